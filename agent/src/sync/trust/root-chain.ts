import { isSignedBy, readRoot, type Role, type Root } from './signed-metadata.ts'

/**
 * The newest of the roots that lead on from the pinned one, each signed by the one before and by
 * itself; null when the chain does not hold. Expiry is judged where something new is fetched.
 */
export function followRoots(pinned: string, roots: readonly string[]): Root | null {
  const first = readRoot(pinned)
  return first === null || !isSignedBy(first, 'root', pinned) ? null : followFrom(first, roots)
}

/** The same from one that is trusted. */
export function followFrom(trusted: Root, roots: readonly string[]): Root | null {
  let newest = trusted
  for (const text of roots) {
    const next = readRoot(text)
    if (next === null || next.version !== newest.version + 1) return null
    if (!isSignedBy(newest, 'root', text) || !isSignedBy(next, 'root', text)) return null
    newest = next
  }
  return newest
}

/**
 * Whether the keys of what is signed daily have changed. Then versions begin anew: whoever stole
 * the former keys may have signed the highest ones (specification, §5.3.11).
 */
export function hasOtherKeys(former: Root, next: Root): boolean {
  const keysOf = (root: Root, role: Role): string =>
    (root.roles[role]?.keyids ?? [])
      // A root may name `constructor`, which every object has.
      .map((id) => (Object.hasOwn(root.keys, id) ? root.keys[id]?.keyval.public : undefined) ?? '')
      .toSorted()
      .join()
  const daily = ['timestamp', 'snapshot', 'targets'] as const
  return daily.some((role) => keysOf(former, role) !== keysOf(next, role))
}
