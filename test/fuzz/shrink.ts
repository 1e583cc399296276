import type { PolicySet } from '@palisade/policy-core'

type Origin = 'policies' | 'local'

/** Position of a resource: list, policy and rule. */
interface Position {
  readonly origin: Origin
  readonly policy: number
  readonly rule: number
  readonly resource: number
}

/**
 * Returns a shorter list for which `fails` still holds. Removes halves, quarters and so on down to
 * single items, while `hasTime`.
 */
export function shrinkList<T>(
  items: readonly T[],
  fails: (fewer: readonly T[]) => boolean,
  hasTime: () => boolean,
): readonly T[] {
  let kept = items
  let chunk = Math.ceil(kept.length / 2)
  while (kept.length > 0 && hasTime()) {
    const before = kept.length
    for (let start = 0; start < kept.length && hasTime();) {
      const fewer = [...kept.slice(0, start), ...kept.slice(start + chunk)]
      if (fails(fewer)) kept = fewer
      else start += chunk
    }
    if (chunk === 1 && kept.length === before) break
    chunk = Math.max(1, Math.ceil(Math.min(chunk, kept.length) / 2))
  }
  return kept
}

/**
 * Returns a smaller set for which `fails` still holds. Empty rules and policies are removed as
 * well.
 */
export function shrinkSet(
  set: PolicySet,
  fails: (set: PolicySet) => boolean,
  hasTime: () => boolean,
): PolicySet {
  const kept = shrinkList(positionsOf(set), (fewer) => fails(onlyAt(set, fewer)), hasTime)
  return onlyAt(set, kept)
}

function positionsOf(set: PolicySet): Position[] {
  return (['policies', 'local'] as const).flatMap((origin) =>
    (set[origin] ?? []).flatMap((each, policy) =>
      (each.allowlist_v0?.rules ?? []).flatMap(({ resources }, rule) =>
        resources.map((_, resource) => ({ origin, policy, rule, resource })),
      ),
    ),
  )
}

function onlyAt(set: PolicySet, positions: readonly Position[]): PolicySet {
  const wanted = new Set(positions.map(keyOf))
  const only = (origin: Origin): PolicySet['policies'] =>
    set[origin]?.flatMap((each, policy) => {
      const rules = (each.allowlist_v0?.rules ?? []).flatMap((held, rule) => {
        const resources = held.resources.filter((_, resource) =>
          wanted.has(keyOf({ origin, policy, rule, resource })),
        )
        return resources.length === 0 ? [] : [{ ...held, resources }]
      })
      return rules.length === 0 ? [] : [{ ...each, allowlist_v0: { rules } }]
    })
  return { ...set, policies: only('policies'), local: only('local') }
}

function keyOf({ origin, policy, rule, resource }: Position): string {
  return `${origin} ${policy} ${rule} ${resource}`
}
