import {
  sightingOf,
  splitByTuples,
  type ObservedRows,
  type TupleRows,
} from '../observed/read-observed.ts'
import type { EvidenceTuple } from '../store/evidence-record.ts'
import { explainDrift, type DriftCause } from './explain-drift.ts'
import {
  createAudiences,
  type Audience,
  type AudienceInput,
  type Evaluator,
  type DecisionPair,
  type NotJudged,
} from './replay-audiences.ts'
import {
  createReplayChanges,
  type ReplayChanges,
  type RowAt,
  type ShownGroups,
} from './replay-changes.ts'
import { createReplayTally, type ReplayCount, type ReplayTally } from './replay-tally.ts'

export interface ReplayInput extends AudienceInput {
  /** Revision of the policies in force; null when it is unknown. */
  readonly revision: number | null
  readonly shown: ShownGroups
}

export interface ReplayResult {
  readonly recorded: ReplayCount
  readonly newlyDenied: ReplayChanges
  readonly newlyAllowed: ReplayChanges
  readonly unchanged: ReplayCount
  readonly drift: ReadonlyMap<DriftCause, ReplayCount>
  readonly notJudged: ReadonlyMap<NotJudged, ReplayCount>
  /** Names among them that were decided without an address, which may change the decision. */
  readonly withoutAddress: ReplayCount
}

/** Decides recorded requests anew, by the policies in force and by a draft. */
export interface Replay {
  /** Parts to be given to `decide` in turn; those of one audience follow each other. */
  parts(): Generator<readonly TupleRows[]>
  /** Decides a part: some milliseconds, and a compilation when the audience is another one. */
  decide(part: readonly TupleRows[], tuples: ReadonlyMap<number, EvidenceTuple>): void
  /** Distinct requests for each audience, and how many of them are decided. */
  requests(): { readonly all: number; readonly decided: number }
  result(): ReplayResult
}

const NO_MEMBER = -1

export function createReplay(input: ReplayInput, observed: ObservedRows): Replay {
  const { audiences, ranks } = rankSubjects(input, observed)
  const rows = observed.table.sorted(ranks)
  const rankOf = (position: number): number =>
    ranks[observed.table.subjectOf(rows[position] ?? 0)] ?? NO_MEMBER
  const sums = createSums(input, rows.length, (position) => {
    const row = rows[position] ?? 0
    return { tuple: observed.table.tupleOf(row), sighting: sightingOf(observed, row) }
  })
  let current: { readonly rank: number; readonly evaluate: Evaluator } = {
    rank: NO_MEMBER,
    evaluate: () => 'not_a_member',
  }
  let decided = 0

  function* parts(): Generator<readonly TupleRows[]> {
    for (let from = 0, to = 0; from < rows.length; from = to) {
      while (to < rows.length && rankOf(to) === rankOf(from)) to += 1
      yield* splitByTuples(observed, rows, [from, to])
    }
  }

  function countRequests(): number {
    let count = 0
    for (let at = 0; at < rows.length; at += 1) {
      const isSame =
        at > 0 &&
        rankOf(at) === rankOf(at - 1) &&
        observed.table.tupleOf(rows[at] ?? 0) === observed.table.tupleOf(rows[at - 1] ?? 0)
      if (!isSame && rankOf(at) !== NO_MEMBER) count += 1
    }
    return count
  }
  const all = countRequests()

  return {
    parts,
    decide(part, tuples) {
      const rank = rankOf(part[0]?.from ?? 0)
      const audience = audiences[rank]
      if (rank !== current.rank && audience !== undefined)
        current = { rank, evaluate: audience.compile() }
      for (const each of part) {
        const tuple = tuples.get(each.tuple)
        if (tuple !== undefined) sums.add(each, tuple, current.evaluate(tuple))
      }
      if (rank !== NO_MEMBER) decided += part.length
    },
    requests: () => ({ all, decided }),
    result: () => sums.result(),
  }
}

/** Numbers the audiences, and gives each subject the number of its own. */
function rankSubjects(
  input: ReplayInput,
  { subjects }: ObservedRows,
): { readonly audiences: readonly Audience[]; readonly ranks: Int32Array } {
  const find = createAudiences(input)
  const numbers = new Map<Audience, number>()
  const ranks = Int32Array.from(subjects, ({ username }) => {
    const audience = find.of(username)
    if (audience === null) return NO_MEMBER
    const number = numbers.get(audience) ?? numbers.size
    numbers.set(audience, number)
    return number
  })
  return { audiences: [...numbers.keys()], ranks }
}

function createSums({ revision, shown }: ReplayInput, length: number, at: RowAt) {
  const denied = createReplayChanges(length, at)
  const allowed = createReplayChanges(length, at)
  const notJudged = createTallies<NotJudged>()
  const drift = createTallies<DriftCause>()
  const recorded = createReplayTally()
  const unchanged = createReplayTally()
  const withoutAddress = createReplayTally()

  const talliesOf = (tuple: EvidenceTuple, outcome: DecisionPair | NotJudged): ReplayTally[] => {
    if (typeof outcome === 'string') return [recorded, notJudged.of(outcome)]
    const { before, after } = outcome
    return [
      recorded,
      ...(before.decision === after.decision ? [unchanged] : []),
      ...(before.decision === tuple.decision ? [] : [drift.of(explainDrift(tuple, revision))]),
      ...(before.address_required === true || after.address_required === true
        ? [withoutAddress]
        : []),
    ]
  }

  return {
    add(rows: TupleRows, tuple: EvidenceTuple, outcome: DecisionPair | NotJudged): void {
      const tallies = talliesOf(tuple, outcome)
      for (let position = rows.from; position < rows.to; position += 1) {
        const { sighting } = at(position)
        for (const each of tallies) each.add(rows.tuple, sighting)
      }
      if (typeof outcome === 'string' || outcome.before.decision === outcome.after.decision) return
      const { before, after } = outcome
      const changes = after.decision === 'deny' ? denied : allowed
      changes.add(rows, before, after)
    },
    result: (): ReplayResult => ({
      recorded: recorded.count(),
      newlyDenied: denied.result(shown),
      newlyAllowed: allowed.result(shown),
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
