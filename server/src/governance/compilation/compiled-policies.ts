import type { Decision } from '@palisade/policy-core'
import { LRUCache } from 'lru-cache'
import { createHash } from 'node:crypto'
import { limitExceeded } from '../../platform/api-error.ts'
import type { Work } from '../../operations/overload/work-budget.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../../store/records.ts'
import { createAnswerTurns, type AnswerTurns } from '../../operations/overload/answer-turns.ts'
import { formatPolicy } from '../../history/format-policy.ts'
import type { FindPolicy } from '../policy-lookup.ts'
import { UncompilableError, type PolicyWorker, type WorkerSet } from './policy-worker-client.ts'

/** About 45 MB when full, by what a compiled resource takes (bench/README.md). */
const MAX_RESOURCES = 200_000
/** Of a set that compiles in some tens of milliseconds. */
const MAX_SMALL_RESOURCES = 5_000
/** Sets at once, also of small ones. */
const MAX_SETS = 500
/** A longer text counts as several resources: the worker has memory for 50 MB of texts. */
const LENGTH_OF_RESOURCE = 256
/** Sets of each organization that wait to be made. */
const MAX_WAITING_EACH = 16
/**
 * Decisions at a time, about one for each worker, and those of an organization and of all that
 * wait.
 */
const MAX_DECIDING = 2
const MAX_DECISIONS_WAITING_EACH = 64
const MAX_DECISIONS_WAITING = 1024

/** The policies that apply to somebody: everything that a decision depends on. */
export interface EffectiveSet {
  readonly org: string
  readonly heads: readonly PolicyHeadRecord[]
  readonly resolve_unlisted_names: boolean
}

/** Compiled policies of the sets that were asked for last. */
export interface CompiledPolicies {
  /**
   * Decides by the kept set, or else by the policies that `load` gives, compiled. `load` answers
   * null for a policy that has changed since its head was read; then `decide` answers null as well.
   * The revision of the decision is null. Throws 403 for more resources than can be kept, and for
   * what takes too long to compile; where there is anything to be compiled, what `begin` throws
   * when it is the organization's turn; and 429 as `AnswerTurns` does, which decisions wait for as
   * well.
   *
   * The set has no revision: many revisions of an organization leave its policies alone.
   */
  decide(set: EffectiveSet, source: PolicySource, request: unknown): Promise<Decision | null>
}

export interface PolicySource {
  /** `formatPrincipal` of who asks; callers of an organization take turns. */
  readonly caller: string
  readonly load: FindPolicy
  readonly begin: () => Work
}

/** Null in the place of a set that cannot be decided by. */
interface Kept {
  readonly set: WorkerSet | null
  readonly resources: number
}

/** Workers for the sets of most organizations, and for those that take seconds. */
export interface PolicyWorkers {
  /** Its time limit is as long as a small set may hold up all others. */
  readonly small: Pick<PolicyWorker, 'open'>
  readonly large: Pick<PolicyWorker, 'open'>
}

/** A worker, and the sets that it takes. */
interface Lane {
  readonly worker: Pick<PolicyWorker, 'open'>
  readonly turns: AnswerTurns
  readonly maxResources: number
}

/**
 * Keys sets by the policies in them and not by the teams that were asked about: most sets of teams
 * share one set of policies. A set that is too large is kept as such, so that asking again reads
 * nothing. Together the sets hold at most `maxResources` resources.
 *
 * Sets that are large or slow have a worker of their own, so that no decision by another one waits
 * for them to compile.
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
  // One at a time, also of all: a worker that ends is then the fault of the set that it compiles.
  const createLaneTurns = () => createAnswerTurns(MAX_WAITING_EACH, 1)
  const small: Lane = {
    worker: workers.small,
    turns: createLaneTurns(),
    maxResources: Math.min(MAX_SMALL_RESOURCES, maxResources),
  }
  const large: Lane = { worker: workers.large, turns: createLaneTurns(), maxResources }
  // A decision by many path patterns takes milliseconds, and the workers take messages in one line.
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

  /** One attempt of each caller: a refusal of one is not another's. */
  function makeInTurn(key: string, set: EffectiveSet, source: PolicySource): Promise<Kept | null> {
    const makeIn = async (lane: Lane): Promise<Kept | null> => {
      // Another caller may have had it made meanwhile.
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
          // Dropped where others came in between.
          async () => (set.isLost() ? null : set.decide(request)),
          source.caller,
        )
      throw limitExceeded(
        `the policies hold more than ${maxResources} resources or ${maxMegabytes} MB, or take too long to compile, to be judged here; ask a machine`,
      )
    },
  }
}

/** Null when a policy has changed; `UNDECIDABLE` for what is too much for the lane. */
async function make(
  lane: Lane,
  { heads, resolve_unlisted_names }: EffectiveSet,
  { load, begin }: PolicySource,
): Promise<Kept | null> {
  const work = begin()
  const set = lane.worker.open()
  let kept: Kept | null = null
  try {
    const count = await add(lane, set, { heads, load, work })
    if (count === null) return null
    if (count > lane.maxResources) return UNDECIDABLE
    work.charge(await set.compile(resolve_unlisted_names))
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

/** How much they count, or more than they may; null when a policy has changed. */
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
    set.add(formatPolicy(record))
    await work.turn()
  }
  return count
}

/** Runs one attempt of each key at a time, which all who ask meanwhile share. */
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

/** A policy is the same as long as its revision is. */
function keyOf({ org, heads, resolve_unlisted_names }: EffectiveSet): string {
  const told = [org, resolve_unlisted_names, heads.map(({ id, revision }) => [id, revision])]
  return createHash('sha256').update(JSON.stringify(told)).digest('base64')
}

function countResources({ rules }: PolicyRecord): number {
  let count = 0
  for (const { resources } of rules)
    for (const { length } of resources) count += Math.max(1, length / LENGTH_OF_RESOURCE)
  return count
}
