import { hash } from 'node:crypto'
import { formatPrincipal, type Principal } from '../principal.ts'
import type { Answer } from '../../http/answer.ts'
import {
  conflict,
  invalidArgument,
  limitExceeded,
  type ApiError,
} from '../../platform/api-error.ts'
import type { IdempotencyRecord } from '../../store/records.ts'
import type { KeptAnswers } from '../../store/contract/server-state.ts'
import type { StoreReader, StoreWriter } from '../../store/store.ts'

const HEADER = 'Idempotency-Key'
/** In place of a body; no JSON is this. */
const NOT_KEPT = ''
const KEPT_MS = 24 * 60 * 60 * 1000
/** Of one caller, who may write 43 million things a day. */
const MOST: KeptAnswers = { answers: 50_000, bytes: 64 * 2 ** 20 }

/** A request that is to have its effect once, however often it arrives. */
export interface OnceRequest {
  /** Null when no key was sent. */
  readonly scope: string | null
  /** `formatPrincipal` of the caller. */
  readonly caller: string
  readonly bodyHash: string
  /** Whether request or answer hold a secret: nothing of either is kept then. */
  readonly hasSecret: boolean
}

/** Reads the key, or throws 400; the key belongs to the caller and to the place he posts to. */
export function readOnceRequest(request: {
  readonly key: string | undefined
  readonly principal: Principal
  /** Method and path, by names that tell every resource from every other. */
  readonly place: readonly string[]
  readonly body: Uint8Array
  readonly hasSecret?: boolean
}): OnceRequest {
  const { key, principal, place, body, hasSecret = false } = request
  if (key !== undefined && !/^[\x21-\x7E]{1,255}$/.test(key))
    throw invalidArgument(`\`${HEADER}\` must be 1 to 255 visible ASCII characters`, {
      field: HEADER,
    })
  const caller = formatPrincipal(principal)
  if (key === undefined) return { scope: null, caller, bodyHash: '', hasSecret }
  const scope = sha256(JSON.stringify([caller, ...place, key]))
  // A fast hash of a body with a password would undo what the slow one is for.
  return { scope, caller, bodyHash: hasSecret ? '' : sha256(body), hasSecret }
}

/**
 * Gives the kept answer of an earlier request with the same key and body, or else judges the
 * request, acts, and keeps the answer for 24 hours. In the transaction of the write: of two
 * requests with one key the second sees the first. What `judge` and `act` throw is not kept.
 * Throws 409 when the key came with another body; a body that is itself at fault is 400 first.
 * Throws 403 when too much is kept for the caller.
 *
 * Of a request with a secret the key alone is kept: the secret is shown once, and a database that
 * somebody steals holds none. Its repetition is 409, which says so.
 */
export async function answerOnce<Input>(
  writer: StoreWriter,
  request: OnceRequest,
  now: Date,
  work: { judge: () => Promise<Input>; act: (input: Input) => Promise<Answer> },
): Promise<Answer> {
  if (request.scope === null) return await work.act(await work.judge())
  const kept = await findKept(writer, request.scope, now)
  if (kept !== null && kept.body_hash === request.bodyHash) return replay(kept)
  const input = await work.judge()
  if (kept !== null) throw otherBody()
  requireRoom(await writer.idempotency.keptFor(request.caller))
  const answer = await work.act(input)
  await writer.idempotency.put({
    scope: request.scope,
    caller: request.caller,
    body_hash: request.bodyHash,
    status: answer.status,
    headers: answer.headers,
    body: request.hasSecret ? NOT_KEPT : textOf(answer.body),
    expires_at: new Date(now.getTime() + KEPT_MS).toISOString(),
  })
  return answer
}

/**
 * Throws for a request with a secret where `answerOnce` would throw instead of acting. To be asked
 * before slow work that `act` needs.
 */
export async function requireUnanswered(
  reader: StoreReader,
  request: OnceRequest,
  now: Date,
): Promise<void> {
  if (request.scope === null) return
  const kept = await findKept(reader, request.scope, now)
  if (kept?.body_hash === request.bodyHash) replay(kept)
  if (kept !== null) throw otherBody()
  requireRoom(await reader.idempotency.keptFor(request.caller))
}

function otherBody(): ApiError {
  return conflict(`this \`${HEADER}\` came with another body before; use a new one`)
}

function requireRoom({ answers, bytes }: KeptAnswers): void {
  if (answers < MOST.answers && bytes < MOST.bytes) return
  throw limitExceeded(
    `answers to your requests of the last 24 hours fill what is kept for \`${HEADER}\`, ${MOST.answers} or 64 MiB; leave the header out, or wait until the oldest are forgotten`,
  )
}

async function findKept(
  reader: StoreReader,
  scope: string,
  now: Date,
): Promise<IdempotencyRecord | null> {
  const kept = await reader.idempotency.find(scope)
  return kept !== null && kept.expires_at > now.toISOString() ? kept : null
}

function replay(kept: IdempotencyRecord): Answer {
  if (kept.body === NOT_KEPT)
    throw conflict(
      `this \`${HEADER}\` has had its effect; the secret in it was not kept, so look for what was made, and use a new key for another`,
    )
  const headers = { ...kept.headers, 'idempotency-replayed': 'true' }
  // A large answer has its media type, because it was formatted piece by piece.
  const isFormatted = 'content-type' in kept.headers
  const body = isFormatted ? Buffer.from(kept.body) : JSON.parse(kept.body)
  return { status: kept.status, headers, body }
}

function textOf(body: unknown): string {
  return Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body)
}

function sha256(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex')
}
