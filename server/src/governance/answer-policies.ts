import { createHash } from 'node:crypto'
import type { Answer } from '../http/answer.ts'
import { nextTurn } from '../next-turn.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../store/records.ts'
import type { Store, StoreReader } from '../store/store.ts'
import type { AnswerTurns } from './answer-turns.ts'
import type { AnswersBeingSent } from './answers-being-sent.ts'
import type { AnswersInFlight } from './answers-in-flight.ts'
import { readAsOf } from './policy-lookup.ts'

const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'
/** Somebody may write without a pause; then everything is read at once. */
const MAX_ATTEMPTS = 3
const COMMA = Buffer.from(',')

/** An answer that shows many policies, as of one revision of its organization. */
export interface ShownPolicies {
  readonly revision: number
  /** Which ones, in order. */
  readonly heads: readonly PolicyHeadRecord[]
  readonly format: (policy: PolicyRecord) => object
  /** JSON around the policies, which `format` depends on as well as on the policies. */
  readonly around: readonly [before: string, after: string]
  readonly headers?: Readonly<Record<string, string>>
}

export interface LargeAnswerDeps {
  readonly store: Pick<Store, 'read'>
  readonly turns: AnswerTurns
  readonly inFlight: AnswersInFlight
  readonly beingSent: AnswersBeingSent
}

/**
 * Answers with many policies, 40 MB and more, without holding up everybody else: one policy at a
 * time is read and put into words, and others have their turns in between, also at the store. All
 * are of one revision, which changes with every policy; when one of them has changed, it begins again, and
 * `open` judges the caller again. Throws what `open` throws, and 429 as `AnswerTurns` and `AnswersBeingSent` do.
 * To be sent by `AnswersBeingSent`.
 */
export async function answerPolicies(
  { store, turns, inFlight, beingSent }: LargeAnswerDeps,
  org: string,
  open: (reader: StoreReader) => Promise<ShownPolicies | Answer>,
): Promise<Answer> {
  for (let made = 0; made < MAX_ATTEMPTS; made += 1) {
    const shown = await store.read(open)
    if ('status' in shown) return shown
    const body = await inFlight.take(keyOf(org, shown), () =>
      turns.run(org, () => {
        beingSent.requireRoom(org)
        return readSliced(store, shown)
      }),
    )
    if (body !== null) return toAnswer(shown, body)
  }
  return turns.run(org, async () => {
    beingSent.requireRoom(org)
    const read = await store.read(async (reader) => {
      const shown = await open(reader)
      const policies = 'status' in shown ? [] : await reader.policies.listWithRules(org)
      return { shown, policies }
    })
    if ('status' in read.shown) return read.shown
    return toAnswer(read.shown, await formatSliced(read.shown, read.policies))
  })
}

function toAnswer({ headers }: ShownPolicies, body: Buffer): Answer {
  return { status: 200, headers: { ...headers, 'content-type': JSON_MEDIA_TYPE }, body }
}

/** Of one revision a policy is known by its id. */
function keyOf(org: string, { revision, heads, around }: ShownPolicies): string {
  const told = JSON.stringify([org, revision, around, heads.map(({ id }) => id)])
  return createHash('sha256').update(told).digest('base64')
}

/** Null when one of the policies has changed since its head was read. */
async function readSliced(
  store: Pick<Store, 'read'>,
  shown: ShownPolicies,
): Promise<Buffer | null> {
  const texts: Buffer[] = []
  for (const head of shown.heads) {
    const policy = await readAsOf(store, head)
    if (policy === null) return null
    texts.push(Buffer.from(JSON.stringify(shown.format(policy))))
    await nextTurn()
  }
  return join(shown, texts)
}

async function formatSliced(
  shown: ShownPolicies,
  policies: readonly PolicyRecord[],
): Promise<Buffer> {
  const byId = new Map(policies.map((policy) => [policy.id, policy]))
  const texts: Buffer[] = []
  for (const { id } of shown.heads) {
    const policy = byId.get(id)
    if (policy === undefined) throw new TypeError(`policy \`${id}\` is not in its own snapshot`)
    texts.push(Buffer.from(JSON.stringify(shown.format(policy))))
    await nextTurn()
  }
  return join(shown, texts)
}

function join({ around: [before, after] }: ShownPolicies, texts: readonly Buffer[]): Buffer {
  const separated = texts.flatMap((text, index) => (index === 0 ? [text] : [COMMA, text]))
  return Buffer.concat([Buffer.from(before), ...separated, Buffer.from(after)])
}
