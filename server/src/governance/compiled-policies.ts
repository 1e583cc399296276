import { compilePolicy, type CompiledPolicy, type PolicySet } from '@palisade/policy-core'

/** About 45 MB when full, by what a compiled resource takes (bench/README.md). */
const MAX_RESOURCES = 200_000

/** What a compiled policy was made from: nothing else has a say in it. */
export interface PolicySource {
  readonly org: string
  readonly revision: number
  /** Team ids in any order. */
  readonly teams: readonly string[]
}

/** Compiled policies of the revisions that were asked for last. */
export interface CompiledPolicies {
  /** The one that is kept, or else what `load` gives, compiled. */
  take(source: PolicySource, load: () => Promise<PolicySet>): Promise<CompiledPolicy>
}

/**
 * Keeps one compiled policy for each organization and set of teams, together at most `maxResources`
 * resources, those asked for last. Compiling costs some microseconds a resource, so without it a
 * question about a large organization would hold up every other request for half a second.
 */
export function createCompiledPolicies(maxResources = MAX_RESOURCES): CompiledPolicies {
  const entries = new Map<
    string,
    { readonly revision: number; readonly resources: number; readonly policy: CompiledPolicy }
  >()
  let kept = 0

  function drop(key: string): void {
    kept -= entries.get(key)?.resources ?? 0
    entries.delete(key)
  }

  return {
    async take({ org, revision, teams }, load) {
      const key = JSON.stringify([org, ...new Set(teams.toSorted())])
      const known = entries.get(key)
      if (known?.revision === revision) {
        entries.delete(key)
        entries.set(key, known)
        return known.policy
      }
      const set = await load()
      const policy = compilePolicy(set)
      drop(key)
      const resources = countResources(set)
      if (resources > maxResources) return policy
      entries.set(key, { revision, resources, policy })
      kept += resources
      for (const oldest of entries.keys()) {
        if (kept <= maxResources) break
        drop(oldest)
      }
      return policy
    },
  }
}

/** A set without any still takes its place. */
function countResources({ policies = [] }: PolicySet): number {
  let count = 1
  for (const { allowlist_v0 } of policies)
    for (const { resources } of allowlist_v0?.rules ?? []) count += resources.length
  return count
}
