import { ApiError, limitExceeded } from '../http/api-error.ts'
import { compilePolicy, type CompiledPolicy, type PolicySet } from '@palisade/policy-core'

/** About 45 MB when full, by what a compiled resource takes (bench/README.md). */
const MAX_RESOURCES = 200_000
/** A compilation that holds everybody up for longer than this is paid for. */
const FREE_MS = 250
/** For so many times as long nothing more is compiled for its organization: a tenth of the time. */
const REST_FACTOR = 9

/** What a compiled policy was made from: nothing else has a say in it. */
export interface PolicySource {
  readonly org: string
  readonly revision: number
  /** Team ids in any order. */
  readonly teams: readonly string[]
}

/** Compiled policies of the revisions that were asked for last. */
export interface CompiledPolicies {
  /**
   * The one that is kept, or else what `load` gives, compiled. Throws 403 for more resources than
   * can be kept, and 429 while the organization pays for a compilation that took long: patterns of
   * 16 MB, written to be slow, held the server up for 20 seconds at each question.
   */
  take(source: PolicySource, load: () => Promise<PolicySet>): Promise<CompiledPolicy>
}

/**
 * Keeps one compiled policy for each organization and set of teams, together at most `maxResources`
 * resources, those asked for last. Compiling costs some microseconds a resource, so without it a
 * question about a large organization would hold up every other request for half a second.
 */
export function createCompiledPolicies({
  maxResources = MAX_RESOURCES,
  clockMs = () => performance.now(),
}: { readonly maxResources?: number; readonly clockMs?: () => number } = {}): CompiledPolicies {
  const entries = new Map<
    string,
    { readonly revision: number; readonly resources: number; readonly policy: CompiledPolicy }
  >()
  let kept = 0
  /** By organization, until when it rests. */
  const resting = new Map<string, number>()

  function requireRested(org: string): void {
    const waitMs = (resting.get(org) ?? 0) - clockMs()
    if (waitMs <= 0) return void resting.delete(org)
    throw new ApiError(
      429,
      'limit_exceeded',
      'the policies of this organization take long to compile; wait and try again',
      { headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) } },
    )
  }

  function compile(org: string, set: PolicySet): CompiledPolicy {
    const startedMs = clockMs()
    const policy = compilePolicy(set)
    const endedMs = clockMs()
    const tookMs = endedMs - startedMs
    if (tookMs > FREE_MS) resting.set(org, endedMs + REST_FACTOR * tookMs)
    return policy
  }

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
      requireRested(org)
      const set = await load()
      const resources = countResources(set)
      if (resources > maxResources)
        throw limitExceeded(
          `the policies hold more than ${maxResources} resources, too many to be judged here; ask a machine`,
        )
      const policy = compile(org, set)
      drop(key)
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
