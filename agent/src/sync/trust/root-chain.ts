import { isSignedBy, readRoot, type Role, type Root } from './signed-metadata.ts'

/**
 * The newest root of the chain from the pinned one, each signed by the one before and by itself;
 * null if the chain is invalid. Expiry is checked when a newer file is fetched.
 */
export function followRoots(pinned: string, roots: readonly string[]): Root | null {
  const first = readRoot(pinned)
  return first === null || !isSignedBy(first, 'root', pinned) ? null : followFrom(first, roots)
}

/** Follows the chain from a trusted root. */
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
 * Whether the keys of the roles that are signed daily have changed. Then versions start again,
 * because a thief of the former keys may have signed the highest ones (specification, §5.3.11).
 */
export function hasOtherKeys(former: Root, next: Root): boolean {
  const keysOf = (root: Root, role: Role): string =>
    (root.roles[role]?.keyids ?? [])
      // A root may name `constructor`, which every object inherits.
      .map((id) => (Object.hasOwn(root.keys, id) ? root.keys[id]?.keyval.public : undefined) ?? '')
      .toSorted()
      .join()
  const daily = ['timestamp', 'snapshot', 'targets'] as const
  return daily.some((role) => keysOf(former, role) !== keysOf(next, role))
}
