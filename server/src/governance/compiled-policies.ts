import { compilePolicy, type CompiledPolicy, type PolicySet } from '@palisade/policy-core'
import { createHash } from 'node:crypto'
import { limitExceeded } from '../http/api-error.ts'
import type { Work } from '../overload/work-budget.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../store/records.ts'
import { formatPolicy } from './format-policy.ts'
import type { FindPolicy } from './policy-lookup.ts'

/** About 45 MB when full, by what a compiled resource takes (bench/README.md). */
const MAX_RESOURCES = 200_000
/** Sets at once, also of small ones. */
const MAX_SETS = 500

/** The policies that apply to somebody: everything that a decision depends on. */
export interface EffectiveSet extends Required<Pick<PolicySet, 'resolve_unlisted_names'>> {
  readonly org: string
  readonly heads: readonly PolicyHeadRecord[]
}

/** Compiled policies of the sets that were asked for last. */
export interface CompiledPolicies {
  /**
   * The kept set, or else the policies that `load` gives, compiled. `load` answers null for a policy
   * that has changed since its head was read; then `take` answers null as well. Throws 403 for more
   * resources than can be kept, and what `begin` throws where there is anything to be done.
   *
   * The set has no revision: many revisions of an organization leave its policies alone.
   */
  take(set: EffectiveSet, source: PolicySource): Promise<CompiledPolicy | null>
}

export interface PolicySource {
  readonly load: FindPolicy
  readonly begin: () => Work
}

/** Null in the place of a set that is too large. */
interface Kept {
  readonly policy: CompiledPolicy | null
  readonly resources: number
}

/**
 * Keys sets by the policies in them and not by the teams that were asked about: most sets of teams
 * share one set of policies. A set that is too large is kept as such, so that asking again reads
 * nothing. Together the sets hold at most `maxResources` resources.
 */
export function createCompiledPolicies({
  maxResources = MAX_RESOURCES,
  maxSets = MAX_SETS,
}: { readonly maxResources?: number; readonly maxSets?: number } = {}): CompiledPolicies {
  const entries = new Map<string, Kept>()
  const making = new Map<string, Promise<Kept | null>>()
  let resources = 0

  function find(key: string): Kept | null {
    const known = entries.get(key)
    if (known === undefined) return null
    entries.delete(key)
    entries.set(key, known)
    return known
  }

  function keep(key: string, kept: Kept): void {
    entries.set(key, kept)
    resources += kept.resources
    for (const [oldest, { resources: freed }] of entries) {
      if (resources <= maxResources && entries.size <= maxSets) break
      entries.delete(oldest)
      resources -= freed
    }
  }

  /** Stops reading at the first policy that is too much. */
  async function make(
    { heads, resolve_unlisted_names }: EffectiveSet,
    { load, begin }: PolicySource,
  ): Promise<Kept | null> {
    const work = begin()
    try {
      const records: PolicyRecord[] = []
      let count = 1
      for (const head of heads) {
        const record = await load(head)
        if (record === null) return null
        count += countResources(record)
        if (count > maxResources) return { policy: null, resources: 1 }
        records.push(record)
        await work.turn()
      }
      const policies = records.map(formatPolicy)
      return { policy: compilePolicy({ policies, resolve_unlisted_names }), resources: count }
    } finally {
      work.end()
    }
  }

  async function makeOnce(key: string, begin: () => Promise<Kept | null>): Promise<Kept | null> {
    const begun = making.get(key) ?? begin()
    making.set(key, begun)
    try {
      const kept = await begun
      if (kept !== null && making.get(key) === begun) keep(key, kept)
      return kept
    } finally {
      if (making.get(key) === begun) making.delete(key)
    }
  }

  return {
    async take(set, source) {
      const key = keyOf(set)
      const kept = find(key) ?? (await makeOnce(key, () => make(set, source)))
      if (kept === null) return null
      if (kept.policy !== null) return kept.policy
      throw limitExceeded(
        `the policies hold more than ${maxResources} resources, too many to be judged here; ask a machine`,
      )
    },
  }
}

/** A policy is the same as long as its revision is. */
function keyOf({ org, heads, resolve_unlisted_names }: EffectiveSet): string {
  const told = [org, resolve_unlisted_names, heads.map(({ id, revision }) => [id, revision])]
  return createHash('sha256').update(JSON.stringify(told)).digest('base64')
}

function countResources({ rules }: PolicyRecord): number {
  return rules.reduce((count, { resources }) => count + resources.length, 0)
}
