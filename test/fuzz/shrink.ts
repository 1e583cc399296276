import type { PolicySet } from '@palisade/policy-core'

type Origin = 'policies' | 'local'

/** Where a resource stands: in which list, policy and rule. */
interface Place {
  readonly origin: Origin
  readonly policy: number
  readonly rule: number
  readonly resource: number
}

/**
 * A shorter list for which `fails` still holds: leaves out halves, quarters and so on down to
 * single items, as long as `hasTime`.
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

/** A smaller set for which `fails` still holds. Rules and policies that become empty go too. */
export function shrinkSet(
  set: PolicySet,
  fails: (set: PolicySet) => boolean,
  hasTime: () => boolean,
): PolicySet {
  const kept = shrinkList(placesOf(set), (fewer) => fails(onlyPlaces(set, fewer)), hasTime)
  return onlyPlaces(set, kept)
}

function placesOf(set: PolicySet): Place[] {
  return (['policies', 'local'] as const).flatMap((origin) =>
    (set[origin] ?? []).flatMap((each, policy) =>
      (each.allowlist_v0?.rules ?? []).flatMap(({ resources }, rule) =>
        resources.map((_, resource) => ({ origin, policy, rule, resource })),
      ),
    ),
  )
}

function onlyPlaces(set: PolicySet, places: readonly Place[]): PolicySet {
  const wanted = new Set(places.map(keyOf))
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

function keyOf({ origin, policy, rule, resource }: Place): string {
  return `${origin} ${policy} ${rule} ${resource}`
}
