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
import type { KeptAnswers } from '../../store/aggregates/credentials/idempotency.ts'
import type { StoreReader, StoreWriter } from '../../store/store.ts'

const HEADER = 'Idempotency-Key'
/** Stored instead of a body with a secret. It is not valid JSON, so it is never a real body. */
const NOT_KEPT = ''
const KEPT_MS = 24 * 60 * 60 * 1000
/** Limits of one caller, because the rate limit alone would allow millions of answers a day. */
const MAX_KEPT: KeptAnswers = { answers: 50_000, bytes: 64 * 2 ** 20 }

/** A request that takes effect once, even if it is repeated. */
export interface OnceRequest {
  /** Null when no key was sent. */
  readonly scope: string | null
  /** `formatPrincipal` of the caller. */
  readonly caller: string
  readonly bodyHash: string
  /** Whether request or answer contain a secret; neither is stored then. */
  readonly hasSecret: boolean
}

/** Reads the key, or throws 400. The scope of a key is its caller, method and path. */
export function readOnceRequest(request: {
  readonly key: string | undefined
  readonly principal: Principal
  /** Method, path and parameters, which together identify the resource. */
  readonly operation: readonly string[]
  readonly body: Uint8Array
  readonly hasSecret?: boolean
}): OnceRequest {
  const { key, principal, operation, body, hasSecret = false } = request
  if (key !== undefined && !/^[\x21-\x7E]{1,255}$/.test(key))
    throw invalidArgument(`\`${HEADER}\` must be 1 to 255 visible ASCII characters`, {
      field: HEADER,
    })
  const caller = formatPrincipal(principal)
  if (key === undefined) return { scope: null, caller, bodyHash: '', hasSecret }
  const scope = sha256(JSON.stringify([caller, ...operation, key]))
  // No hash of a body with a password: a fast hash would defeat the slow password hash.
  return { scope, caller, bodyHash: hasSecret ? '' : sha256(body), hasSecret }
}

/**
 * Returns the kept answer of an earlier request with the same key and body. Otherwise it validates
 * the request, acts, and keeps the answer for 24 hours. It runs in the transaction of the write, so
 * that of two requests with one key the second sees the first. Errors of `validate` and `act` are
 * not kept. Throws 409 for a key that was sent with another body; an invalid body is refused first.
 * Throws 403 when the caller's room for kept answers is full.
 *
 * The answer of `act` is returned as it is; what it has beside an answer is not kept.
 *
 * For a request with a secret only the key is kept, so that a stolen database holds no secret. Its
 * repetition throws 409.
 */
export async function answerOnce<Input, Acted extends Answer>(
  writer: StoreWriter,
  request: OnceRequest,
  now: Date,
  work: { validate: () => Promise<Input>; act: (input: Input) => Promise<Acted> },
): Promise<Acted | Answer> {
  if (request.scope === null) return await work.act(await work.validate())
  const kept = await findKept(writer, request.scope, now)
  if (kept !== null && kept.body_hash === request.bodyHash) return replay(kept)
  const input = await work.validate()
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
 * For a request with a secret: throws where `answerOnce` would throw instead of acting. Call this
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
  return conflict(`this \`${HEADER}\` was sent before with a different body; use a new key`)
}

function requireRoom({ answers, bytes }: KeptAnswers): void {
  if (answers < MAX_KEPT.answers && bytes < MAX_KEPT.bytes) return
  throw limitExceeded(
    `the answers kept for your \`${HEADER}\` headers of the last 24 hours reach the limit of ` +
      `${MAX_KEPT.answers} or 64 MiB; leave the header out, or wait until the oldest expire`,
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
      `a request with this \`${HEADER}\` has succeeded, and its secret was not kept; ` +
        'look up what it created, or use a new key to create another',
    )
  const headers = { ...kept.headers, 'idempotency-replayed': 'true' }
  // Only an answer that was formatted in pieces has a media type; its body is sent as it is.
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
