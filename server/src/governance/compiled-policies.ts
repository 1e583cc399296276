import { compilePolicy, type CompiledPolicy, type PolicySet } from '@palisade/policy-core'
import { createHash } from 'node:crypto'
import { ApiError, limitExceeded } from '../http/api-error.ts'
import { nextTurn } from '../next-turn.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../store/records.ts'
import { formatPolicy } from './format-policy.ts'

/** About 45 MB when full, by what a compiled resource takes (bench/README.md). */
const MAX_RESOURCES = 200_000
/** Sets at once, also of small ones. */
const MAX_SETS = 500
/** A compilation that holds everybody up for longer than this is paid for. */
const FREE_MS = 250
/** For so many times as long nothing more is compiled for its organization: a tenth of the time. */
const REST_FACTOR = 9

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
   * resources than can be kept, and 429 while the organization pays for a compilation that took long.
   *
   * The set has no revision: many revisions of an organization leave its policies alone.
   */
  take(
    set: EffectiveSet,
    load: (head: PolicyHeadRecord) => Promise<PolicyRecord | null>,
  ): Promise<CompiledPolicy | null>
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
  clockMs = () => performance.now(),
}: {
  readonly maxResources?: number
  readonly maxSets?: number
  readonly clockMs?: () => number
} = {}): CompiledPolicies {
  const entries = new Map<string, Kept>()
  const making = new Map<string, Promise<Kept | null>>()
  let resources = 0
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
    { org, heads, resolve_unlisted_names }: EffectiveSet,
    load: (head: PolicyHeadRecord) => Promise<PolicyRecord | null>,
  ): Promise<Kept | null> {
    requireRested(org)
    const records: PolicyRecord[] = []
    let count = 1
    for (const head of heads) {
      const record = await load(head)
      if (record === null) return null
      count += countResources(record)
      if (count > maxResources) return { policy: null, resources: 1 }
      records.push(record)
      await nextTurn()
    }
    const set = { policies: records.map(formatPolicy), resolve_unlisted_names }
    return { policy: compile(org, set), resources: count }
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
    async take(set, load) {
      const key = keyOf(set)
      const kept = find(key) ?? (await makeOnce(key, () => make(set, load)))
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
