import type { Decision } from '@palisade/policy-core'
import type { DefaultDecision } from '@palisade/protocol'
import { LRUCache } from 'lru-cache'
import { createHash } from 'node:crypto'
import { limitExceeded } from '../../platform/api-error.ts'
import type { Work } from '../../work/work-budget.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../../store/records.ts'
import { createAnswerTurns, type AnswerTurns } from '../../work/answer-turns.ts'
import { formatDetailedPolicy } from '../../store/aggregates/policies/format-policy.ts'
import type { FindPolicy } from '../policy-lookup.ts'
import { UncompilableError, type PolicyWorker, type WorkerSet } from './policy-worker-client.ts'

/** About 45 MB of compiled resources; bench/README.md has the size of one. */
const MAX_RESOURCES = 200_000
/** A set up to this size compiles in some tens of milliseconds. */
const MAX_SMALL_RESOURCES = 5_000
/** Kept sets of any size. */
const MAX_SETS = 500
/** A longer text counts as several resources: the worker's memory holds 50 MB of texts. */
const LENGTH_OF_RESOURCE = 256
/** Sets of one organization that may wait for compilation. */
const MAX_WAITING_EACH = 16
/** Concurrent decisions: about one for each worker. */
const MAX_DECIDING = 2
/** Waiting decisions of one organization, and of all. */
const MAX_DECISIONS_WAITING_EACH = 64
const MAX_DECISIONS_WAITING = 1024

/** The policies that apply to a user or to teams: all that a decision depends on. */
export interface EffectiveSet {
  readonly org: string
  readonly heads: readonly PolicyHeadRecord[]
  readonly resolve_unlisted_names: boolean
  /** The default decision of the user or the teams. */
  readonly default: DefaultDecision
}

/** Cache of compiled sets of policies, those used last. */
export interface CompiledPolicies {
  /**
   * Decides by a kept set, or compiles the policies that `load` returns. Resolves to null when
   * `load` does, because a policy changed since its head was read. The revision of the decision is
   * null: a set stays valid over revisions that do not change its policies.
   *
   * Throws 403 for a set with too many resources or too long a compilation. Throws 429 as
   * `AnswerTurns` does, for compilation and for the decision. A compilation also throws the errors
   * of `begin`, which is called at the organization's turn.
   */
  decide(set: EffectiveSet, source: PolicySource, request: unknown): Promise<Decision | null>
}

export interface PolicySource {
  /** `formatPrincipal` of the caller; callers of an organization take turns. */
  readonly caller: string
  readonly load: FindPolicy
  readonly begin: () => Work
  /** Milliseconds since 1970, asked for when the decision is made. */
  readonly now: () => number
}

/** A kept set; `set` is null when the policies are too much to compile. */
interface Kept {
  readonly set: WorkerSet | null
  readonly resources: number
}

/** Two workers: for the sets of most organizations, and for sets that take seconds. */
export interface PolicyWorkers {
  /** Its time limit bounds how long one small set may delay all others. */
  readonly small: Pick<PolicyWorker, 'open'>
  readonly large: Pick<PolicyWorker, 'open'>
}

/** A worker with its queue and the largest set that it accepts. */
interface Lane {
  readonly worker: Pick<PolicyWorker, 'open'>
  readonly turns: AnswerTurns
  readonly maxResources: number
}

/**
 * The key of a set consists of its policies, not of teams, because most combinations of teams have
 * the same policies. An oversized set is remembered as such, so that the next request for it reads
 * no policies. All sets together hold at most `maxResources` resources.
 *
 * Large and slow sets have a worker of their own, so that decisions by other sets do not wait for
 * their compilation.
 */
export function createCompiledPolicies({
  workers,
  maxResources = MAX_RESOURCES,
  maxSets = MAX_SETS,
}: {
  readonly workers: PolicyWorkers
  readonly maxResources?: number
  readonly maxSets?: number
}): CompiledPolicies {
  const entries = new LRUCache<string, Kept>({
    max: maxSets,
    maxSize: maxResources,
    sizeCalculation: ({ resources }) => Math.ceil(resources),
    dispose: ({ set }) => set?.drop(),
  })
  const once = shareAttempts<Kept | null>()
  // One compilation at a time: when a worker ends, the set that it compiles is the cause.
  const createLaneTurns = () => createAnswerTurns(MAX_WAITING_EACH, 1)
  const small: Lane = {
    worker: workers.small,
    turns: createLaneTurns(),
    maxResources: Math.min(MAX_SMALL_RESOURCES, maxResources),
  }
  const large: Lane = { worker: workers.large, turns: createLaneTurns(), maxResources }
  // A decision by many path patterns takes milliseconds, and a worker handles messages in order.
  const decisions = createAnswerTurns(
    MAX_DECISIONS_WAITING_EACH,
    MAX_DECIDING,
    MAX_DECISIONS_WAITING,
  )
  const maxMegabytes = Math.floor((maxResources * LENGTH_OF_RESOURCE) / 1e6)

  function find(key: string): Kept | null {
    const known = entries.get(key)
    if (known === undefined) return null
    if (known.set?.isLost() !== true) return known
    entries.delete(key)
    return null
  }

  /** Attempts are not shared between callers: one caller's refusal must not reach another. */
  function makeInTurn(key: string, set: EffectiveSet, source: PolicySource): Promise<Kept | null> {
    const makeIn = async (lane: Lane): Promise<Kept | null> => {
      // Another caller's attempt may have compiled the set meanwhile.
      const known = find(key)
      if (known !== null) return known
      const kept = await make(lane, set, source)
      if (kept !== null && (kept !== UNDECIDABLE || lane === large)) entries.set(key, kept)
      return kept
    }
    const run = (lane: Lane) => lane.turns.run(set.org, () => makeIn(lane), source.caller)
    return once(JSON.stringify([key, source.caller]), async () => {
      const kept = await run(small)
      return kept === UNDECIDABLE ? run(large) : kept
    })
  }

  return {
    async decide(effective, source, request) {
      const key = keyOf(effective)
      const kept = find(key) ?? (await makeInTurn(key, effective, source))
      if (kept === null) return null
      const { set } = kept
      if (set !== null)
        return decisions.run(
          effective.org,
          // Other sets may have displaced it while the decision waited.
          async () => (set.isLost() ? null : set.decide(request, source.now())),
          source.caller,
        )
      throw limitExceeded(
        `the policies have more than ${maxResources} resources or ${maxMegabytes} MB, ` +
          'or take too long to compile, for a decision by the server; ask a machine',
      )
    },
  }
}

/** Compiles a set. Null when a policy has changed; `UNDECIDABLE` when the set exceeds the lane. */
async function make(
  lane: Lane,
  { heads, resolve_unlisted_names, default: standard }: EffectiveSet,
  { load, begin }: PolicySource,
): Promise<Kept | null> {
  const work = begin()
  const set = lane.worker.open()
  let kept: Kept | null = null
  try {
    const count = await add(lane, set, { heads, load, work })
    if (count === null) return null
    if (count > lane.maxResources) return UNDECIDABLE
    work.charge(await set.compile({ resolve_unlisted_names, default: standard }))
    return (kept = { set, resources: count })
  } catch (error) {
    if (!(error instanceof UncompilableError)) throw error
    work.charge(error.tookMs)
    return UNDECIDABLE
  } finally {
    work.end()
    if (kept === null) set.drop()
  }
}

/** Returns the size of the set, or any size above the lane's limit; null after a change. */
async function add(
  lane: Lane,
  set: WorkerSet,
  { heads, load, work }: Pick<EffectiveSet, 'heads'> & { load: FindPolicy; work: Work },
): Promise<number | null> {
  let count = 1
  for (const head of heads) {
    const record = await load(head)
    if (record === null) return null
    count += countResources(record)
    if (count > lane.maxResources) break
    await work.turn()
    set.add(formatDetailedPolicy(record))
    await work.turn()
  }
  return count
}

/** Runs one attempt of each key at a time; concurrent calls share it. */
function shareAttempts<T>(): (key: string, begin: () => Promise<T>) => Promise<T> {
  const attempts = new Map<string, Promise<T>>()
  return async (key, begin) => {
    const begun = attempts.get(key) ?? begin()
    attempts.set(key, begun)
    try {
      return await begun
    } finally {
      if (attempts.get(key) === begun) attempts.delete(key)
    }
  }
}

const UNDECIDABLE: Kept = { set: null, resources: 1 }

/** A policy's id and revision determine its content. */
function keyOf({ org, heads, ...settings }: EffectiveSet): string {
  const { resolve_unlisted_names, default: standard } = settings
  const policies = heads.map(({ id, revision }) => [id, revision])
  const parts = [org, resolve_unlisted_names, standard, policies]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}

function countResources({ rules }: PolicyRecord): number {
  let count = 0
  for (const { resources } of rules)
    for (const { length } of resources) count += Math.max(1, length / LENGTH_OF_RESOURCE)
  return count
}
