import type { Decision, RuleMatch } from '@palisade/policy-core'
import type { ObservedRequest, Sighting } from '../observed/read-observed.ts'
import type { EvidenceTuple } from '../store/evidence-record.ts'
import { explainDrift, type DriftCause } from './explain-drift.ts'
import {
  createAudiences,
  type Audience,
  type AudienceInput,
  type Judged,
  type NotJudged,
} from './replay-audiences.ts'
import { createReplayTally, type ReplayCount, type ReplayTally } from './replay-tally.ts'

/** Requests that are decided in one step. */
const REQUESTS_IN_A_STEP = 2_000

export interface ReplayInput extends AudienceInput {
  /** Revision of the policies in force; null when it is unknown. */
  readonly revision: number | null
}

/** A decision as a change shows it. */
export interface ReplayedDecision {
  readonly decision: Decision['decision']
  readonly reason: Decision['reason']
  readonly rules: readonly RuleMatch[]
}

/** Records of one target whose decision the same rules change. */
export interface ReplayGroup extends ReplayCount {
  readonly action: string
  /** `host:port`, or a path. */
  readonly target: string
  readonly before: ReplayedDecision
  readonly after: ReplayedDecision
}

export interface ReplayResult {
  readonly newlyDenied: readonly ReplayGroup[]
  readonly newlyAllowed: readonly ReplayGroup[]
  readonly unchanged: ReplayCount
  readonly drift: ReadonlyMap<DriftCause, ReplayCount>
  readonly notJudged: ReadonlyMap<NotJudged, ReplayCount>
  /** Of those judged: names that were decided without an address, which may change the decision. */
  readonly withoutAddress: ReplayCount
}

/** Decides recorded requests anew, by the policies in force and by a draft. */
export interface Replay {
  add(request: ObservedRequest): void
  /**
   * Decides all requests, in steps of some milliseconds and one for each compilation. Yields how
   * many of `requests` are decided.
   */
  decide(): Generator<number, ReplayResult>
  /** Distinct requests for each audience. */
  requests(): number
}

interface AudienceRequest {
  readonly tuple: EvidenceTuple
  readonly sightings: readonly Sighting[]
}

export function createReplay(input: ReplayInput): Replay {
  const audiences = createAudiences(input)
  const requestsOf = new Map<Audience, AudienceRequest[]>()
  const notJudged = createTallies<NotJudged>()
  let requests = 0

  function add({ tuple, sightings }: ObservedRequest): void {
    const byAudience = new Map<Audience, Sighting[]>()
    for (const sighting of sightings) {
      const audience = audiences.of(sighting.username)
      if (audience === null) notJudged.of('not_a_member').add(tuple, sighting)
      else addTo(byAudience, audience, sighting)
    }
    for (const [audience, some] of byAudience) {
      addTo(requestsOf, audience, { tuple, sightings: some })
      requests += 1
    }
  }

  function* decideAll(): Generator<number, ReplayResult> {
    const sums = createSums(input.revision, notJudged)
    let decided = 0
    for (const [audience, some] of requestsOf) {
      requestsOf.delete(audience)
      const judge = audience.compile()
      yield decided
      for (const { tuple, sightings } of some) {
        sums.add(tuple, sightings, judge(tuple))
        decided += 1
        if (decided % REQUESTS_IN_A_STEP === 0) yield decided
      }
    }
    return sums.result()
  }

  return { add, decide: decideAll, requests: () => requests }
}

function createSums(revision: number | null, notJudged: Tallies<NotJudged>) {
  const denied = createGroups()
  const allowed = createGroups()
  const drift = createTallies<DriftCause>()
  const unchanged = createReplayTally()
  const withoutAddress = createReplayTally()
  return {
    add(tuple: EvidenceTuple, sightings: readonly Sighting[], judged: Judged | NotJudged): void {
      const tallies: ReplayTally[] = []
      if (typeof judged === 'string') tallies.push(notJudged.of(judged))
      else {
        const { before, after } = judged
        if (before.decision === after.decision) tallies.push(unchanged)
        else tallies.push((after.decision === 'deny' ? denied : allowed).of(before, after))
        if (before.decision !== tuple.decision)
          tallies.push(drift.of(explainDrift(tuple, revision)))
        if (before.address_required === true || after.address_required === true)
          tallies.push(withoutAddress)
      }
      for (const sighting of sightings) for (const each of tallies) each.add(tuple, sighting)
    },
    result: (): ReplayResult => ({
      newlyDenied: denied.list(),
      newlyAllowed: allowed.list(),
      unchanged: unchanged.count(),
      drift: drift.counts(),
      notJudged: notJudged.counts(),
      withoutAddress: withoutAddress.count(),
    }),
  }
}

interface Tallies<Key> {
  of(key: Key): ReplayTally
  counts(): Map<Key, ReplayCount>
}

function createTallies<Key>(): Tallies<Key> {
  const tallies = new Map<Key, ReplayTally>()
  return {
    of(key) {
      const tally = tallies.get(key) ?? createReplayTally()
      tallies.set(key, tally)
      return tally
    },
    counts: () => new Map([...tallies].map(([key, tally]) => [key, tally.count()])),
  }
}

interface Group extends Pick<ReplayGroup, 'action' | 'target' | 'before' | 'after'> {
  readonly tally: ReplayTally
}

/** Groups by target and deciding rules. */
function createGroups() {
  const groups = new Map<string, Group>()
  return {
    of(before: Decision, after: Decision): ReplayTally {
      const { action, target } = targetOf(before)
      const key = JSON.stringify([action, target, ...keyOf(before), null, ...keyOf(after)])
      const group = groups.get(key) ?? {
        action,
        target,
        before: shorten(before),
        after: shorten(after),
        tally: createReplayTally(),
      }
      groups.set(key, group)
      return group.tally
    },
    /** The most frequent first. */
    list: (): ReplayGroup[] =>
      [...groups.values()]
        .map(({ tally, ...group }) => ({ ...group, ...tally.count() }))
        .toSorted(
          (one, other) => other.decisions - one.decisions || (one.target < other.target ? -1 : 1),
        ),
  }
}

function targetOf({ request }: Decision): Pick<ReplayGroup, 'action' | 'target'> {
  if (request === null) return { action: '', target: '' }
  const { action } = request
  return { action, target: 'path' in request ? request.path : `${request.host}:${request.port}` }
}

function keyOf({ reason, rules }: Decision): string[] {
  return [reason, ...rules.map(({ rule_id }) => rule_id)]
}

function shorten({ decision, reason, rules }: Decision): ReplayedDecision {
  return { decision, reason, rules }
}

function addTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
