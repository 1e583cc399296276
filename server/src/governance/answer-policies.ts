import { createHash } from 'node:crypto'
import type { Answer } from '../http/answer.ts'
import type { Payer, Work, WorkBudget } from '../work/work-budget.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../store/records.ts'
import type { Store, StoreReader } from '../store/store.ts'
import type { AnswerTurns } from '../work/answer-turns.ts'
import type { AnswersBeingSent } from '../http/body/answers-being-sent.ts'
import type { AnswersInFlight } from './answers-in-flight.ts'
import { concatInTurns } from '../work/concat-in-turns.ts'
import { readAsOf, type FindPolicy } from './policy-lookup.ts'

const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'
/** Continuous writes may spoil every attempt; after these, one snapshot is read instead. */
const MAX_ATTEMPTS = 3
const COMMA = Buffer.from(',')

/** The content of an answer with many policies, all of one revision of their organization. */
export interface ShownPolicies {
  readonly payer: Payer
  readonly revision: number
  /** The policies to show, in order. */
  readonly heads: readonly PolicyHeadRecord[]
  readonly format: (policy: PolicyRecord) => object
  /** JSON around the policies. With the policies it determines all output of `format`. */
  readonly around: readonly [before: string, after: string]
  readonly headers?: Readonly<Record<string, string>>
}

export interface LargeAnswerDeps {
  readonly store: Pick<Store, 'read'>
  readonly budget: Pick<WorkBudget, 'begin'>
  readonly turns: AnswerTurns
  readonly inFlight: AnswersInFlight
  readonly beingSent: AnswersBeingSent
}

/**
 * Answers with many policies, 40 MB and more, without blocking other callers. Policies are read and
 * formatted one at a time, so that other requests run in between, also at the store. All policies
 * are of one revision: when one changes meanwhile, the answer starts over and `open` authorizes the
 * caller again. Throws the errors of `open`, and 429 as `AnswerTurns` and `AnswersBeingSent` do.
 * The result must be sent through `AnswersBeingSent`.
 */
export async function answerPolicies(
  { store, budget, turns, inFlight, beingSent }: LargeAnswerDeps,
  org: string,
  open: (reader: StoreReader) => Promise<ShownPolicies | Answer>,
): Promise<Answer> {
  const find: FindPolicy = (head) => readAsOf(store, head)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const shown = await store.read(open)
    if ('status' in shown) return shown
    const body = await inFlight.take(keyOf(org, shown), () =>
      turns.run(org, () => {
        beingSent.requireRoom(org)
        return format(shown, find, budget.begin(shown.payer))
      }),
    )
    if (body !== null) return toAnswer(shown, body)
  }
  return turns.run(org, () => {
    beingSent.requireRoom(org)
    return store.read(async (reader) => {
      const shown = await open(reader)
      if ('status' in shown) return shown
      const findHere: FindPolicy = ({ id }) => reader.policies.find(org, id)
      const body = await format(shown, findHere, budget.begin(shown.payer))
      if (body === null) throw new TypeError('a policy is not in its own snapshot')
      return toAnswer(shown, body)
    })
  })
}

function toAnswer({ headers }: ShownPolicies, body: Buffer): Answer {
  return { status: 200, headers: { ...headers, 'content-type': JSON_MEDIA_TYPE }, body }
}

/** Within one revision of the organization, an id determines the content of a policy. */
function keyOf(org: string, { revision, heads, around }: ShownPolicies): string {
  const parts = JSON.stringify([org, revision, around, heads.map(({ id }) => id)])
  return createHash('sha256').update(parts).digest('base64')
}

/** Returns null when `find` returns null for one of the policies. */
async function format(shown: ShownPolicies, find: FindPolicy, work: Work): Promise<Buffer | null> {
  const texts: Buffer[] = []
  try {
    for (const head of shown.heads) {
      const policy = await find(head)
      if (policy === null) return null
      texts.push(Buffer.from(JSON.stringify(shown.format(policy))))
      await work.turn()
    }
    return await join(shown, texts, work)
  } finally {
    work.end()
  }
}

function join(
  { around: [before, after] }: ShownPolicies,
  texts: readonly Buffer[],
  work: Work,
): Promise<Buffer> {
  const separated = texts.flatMap((text, index) => (index === 0 ? [text] : [COMMA, text]))
  return concatInTurns([Buffer.from(before), ...separated, Buffer.from(after)], work)
}
