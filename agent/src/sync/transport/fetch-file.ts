import {
  readBoundedBody,
  type Fetch,
  type FetchAnswer,
  type FetchRequest,
  type Prove,
  createProver,
} from '@palisade/client'
import type { DeviceKey, Enrolment } from '@palisade/protocol'
import {
  findBusyFault,
  isForeign,
  isMarkup,
  readRefusal,
  JSON_MEDIA_TYPE,
  mediaTypeOf,
} from './classify-answer.ts'
import { type DeviceAccess, createDeviceAccess } from './device-access.ts'
import { fault, foreignFault, type Fault } from '../fault.ts'
import { TooManyChunksError } from './read-chunks.ts'

const TIMEOUT_MS = 20_000
/** Proofs are dated in whole seconds. */
const LEAST_DIFFERENCE_MS = 1_000
const CREATED = 201

export type Fetched =
  | { readonly kind: 'body'; readonly body: Buffer; readonly etag: string | null }
  | { readonly kind: 'not_modified' }
  /** 404: the file does not exist, or is not for this device. */
  | { readonly kind: 'absent' }
  | Fault

export interface FileRequest {
  /** Below the server's origin. */
  readonly path: string
  readonly maxBytes: number
  /** Tag of the local copy; makes the request conditional. */
  readonly etag?: string | null
  /** For the timestamp, the only file that the token fetches without a proof. */
  readonly isPoll?: boolean
  /** Added to the headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** JSON to send, unless `headers` name another type; makes the request a POST. */
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** For the whole exchange, if not the default. */
  readonly timeoutMs?: number
  /** Returns a refusal of the device token as the answer, instead of asking for another token. */
  readonly keepsToken?: boolean
  /** Returns the sentence of the server's own refusal, for a person who asks. */
  readonly readsRefusal?: boolean
}

/**
 * Fetches one file, or sends a body and fetches the answer. Checks only the transport, not the
 * content. Never rejects.
 */
export type FetchFile = (file: FileRequest, signal: AbortSignal) => Promise<Fetched>

/**
 * Sends requests as the machine that holds the key. Proofs carry the trusted time, which setting
 * the clock back does not change. After a clock was ahead and is corrected, the trusted time stays
 * ahead until a fetch succeeds, which the refused proofs would prevent. So when the server refuses
 * a proof, the other clock serves.
 */
export function fetchAsDevice(deps: {
  readonly enrolment: Pick<Enrolment, 'server'>
  readonly key: DeviceKey
  readonly fetch: Fetch
  /** The trusted time, which dates proofs, in epoch milliseconds. */
  readonly now: () => number
  /** The machine's own clock, in epoch milliseconds. */
  readonly clock: () => number
  readonly random: () => number
}): FetchFile {
  const { enrolment, key, now, ...from } = deps
  let isByOwnClock = false
  const wire = {
    ...from,
    server: enrolment.server,
    prove: createProver(key, () => (isByOwnClock ? from.clock() : now())),
    timeoutMs: TIMEOUT_MS,
    redate() {
      if (Math.abs(now() - from.clock()) < LEAST_DIFFERENCE_MS) return false
      isByOwnClock = !isByOwnClock
      return true
    },
  }
  return createFileFetcher({ ...wire, access: createDeviceAccess(wire) })
}

export function createFileFetcher(deps: {
  readonly fetch: Fetch
  /** Origin. */
  readonly server: string
  readonly access: DeviceAccess
  readonly prove: Prove
  /** For the whole exchange, body included. */
  readonly timeoutMs: number
}): FetchFile {
  function describeRequest(
    file: FileRequest,
    url: string,
    token: string,
  ): Pick<FetchRequest, 'method' | 'headers' | 'body'> {
    const { etag = null, isPoll = false, body = null } = file
    const method = body === null ? 'GET' : 'POST'
    const [target = url] = url.split('?', 1)
    return {
      method,
      body,
      headers: {
        authorization: `DPoP ${token}`,
        // The whole fleet sends this all day, so optional headers are left out.
        ...(isPoll
          ? {}
          : {
              accept: JSON_MEDIA_TYPE,
              dpop: deps.prove({ method, url: target, accessToken: token }),
            }),
        ...(body === null ? {} : { 'content-type': JSON_MEDIA_TYPE }),
        ...file.headers,
        ...(etag === null ? {} : { 'if-none-match': etag }),
        // The answer is most likely a 304, and the server would hold the connection for 70 of every
        // 300 seconds, for every machine.
        ...(isPoll && etag !== null ? { connection: 'close' } : {}),
      },
    }
  }

  async function fetchWith(
    token: string,
    file: FileRequest,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const { path, maxBytes, etag = null, timeoutMs = deps.timeoutMs } = file
    const url = new URL(path, deps.server).href
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const response = await deps.fetch(url, {
        ...describeRequest(file, url, token),
        // A redirect would carry the device token to a host that the enrolment does not name.
        redirect: 'manual',
        signal: AbortSignal.any([signal, timeout]),
      })
      if (response.status === 200 || response.status === CREATED)
        return await readAnswer(response, maxBytes)
      if (await isForeign(response)) return foreignFault(`status ${response.status}`)
      const refusal = file.readsRefusal === true ? await readRefusal(response) : null
      if (refusal !== null) return refusal
      await response.body?.cancel()
      return readStatus(response, etag)
    } catch (error) {
      if (signal.aborted) return fault('stopping', 'the agent is stopping')
      if (timeout.aborted)
        return fault('timeout', `the server did not answer within ${timeoutMs} ms`)
      return fault('unreachable', `cannot reach the server: ${describeCause(error)}`)
    }
  }

  /** Retries once with another token: a server may refuse one before it expires. */
  return async (file, signal) => {
    const first = await deps.access.token(signal)
    if (first.kind === 'fault') return first
    const fetched = await fetchWith(first.token, file, signal)
    if (fetched.kind !== 'fault' || fetched.code !== 'unauthorized') return fetched
    if (file.keepsToken === true) return fetched
    deps.access.reject(first.token)
    const second = await deps.access.token(signal)
    return second.kind === 'fault' ? second : fetchWith(second.token, file, signal)
  }
}

async function readAnswer(response: FetchAnswer, maxBytes: number): Promise<Fetched> {
  if (mediaTypeOf(response) !== JSON_MEDIA_TYPE) {
    await response.body?.cancel()
    return foreignFault('a page instead of a document')
  }
  let body: Uint8Array | null
  try {
    body = await readBoundedBody(response.body, maxBytes)
  } catch (error) {
    if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError'))
      throw error
    if (error instanceof TooManyChunksError) return fault('malformed', error.message)
    return fault('truncated', `the connection broke off: ${describeCause(error)}`)
  }
  if (body === null) return fault('too_large', `the answer is larger than ${maxBytes} bytes`)
  if (isMarkup(body)) return foreignFault('a page labelled as a document')
  if (body.byteLength === 0) return fault('empty', 'the server answered 200 without a document')
  return { kind: 'body', body: Buffer.from(body), etag: parseEtag(response.headers.get('etag')) }
}

function readStatus(response: FetchAnswer, etag: string | null): Fetched {
  const { status } = response
  if (status === 404) return { kind: 'absent' }
  if (status === 304) {
    if (etag !== null) return { kind: 'not_modified' }
    return fault(
      'not_modified_without_bundle',
      'the server answered 304 to a request without a condition',
    )
  }
  if (status >= 300 && status < 400)
    return fault(
      'redirected',
      `a redirect (${status}), by a captive portal or the server; ` +
        'if the latter, enrol with its final address',
    )
  if (status === 401)
    return fault('unauthorized', 'the server refuses the device token that it issued')
  return (
    findBusyFault(response) ?? { ...fault('http_status', `the server answered ${status}`), status }
  )
}

function parseEtag(text: string | null): string | null {
  return text !== null && /^(?:W\/)?"[\x21\x23-\x7e]{1,256}"$/.test(text) ? text : null
}

/** fetch wraps the system's error, which is the informative one. */
function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause: unknown = error.cause
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message
}
