import { backOffMs, readBoundedBody, type Fetch, type Prove } from '@palisade/client'
import { deviceTokenResponseSchema, parseJson } from '@palisade/protocol'
import { findBusyFault, isForeign } from './classify-answer.ts'
import { fault, foreignFault, type Fault } from '../fault.ts'

const PATH = '/api/v1/device/token'
const MAX_ANSWER_BYTES = 4 * 1024
/** Share of a token's life; the rest is for times when the server is unreachable. */
const RENEW_AFTER = 0.8
const RETRY = { firstMs: 5_000, capMs: 5 * 60_000 } as const

/** The short-lived token of this machine for its server. */
export interface DeviceAccess {
  /** Returns a valid token, renewed when due. Never rejects. */
  token(signal: AbortSignal): Promise<{ readonly kind: 'token'; readonly token: string } | Fault>
  /** Call when the server has refused the token; it is not offered again. */
  reject(token: string): void
}

export interface DeviceAccessDeps {
  readonly fetch: Fetch
  /** Origin. */
  readonly server: string
  readonly prove: Prove
  /**
   * Called when the server refuses a proof: dates later proofs by another clock. Returns false if
   * no clock shows another time.
   */
  readonly redate?: () => boolean
  /** For the whole exchange. */
  readonly timeoutMs: number
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** 0 to 1, exclusive. */
  readonly random: () => number
}

interface HeldToken {
  readonly token: string
  readonly renewAtMs: number
  readonly endsAtMs: number
}

/**
 * Requests a token when there is none, and the next one at 80 % of its life. While a renewal fails,
 * the present token serves until it expires, and the next request follows a random pause below a
 * bound that doubles.
 */
export function createDeviceAccess(deps: DeviceAccessDeps): DeviceAccess {
  const { clock, random } = deps
  let held: HeldToken | null = null
  let failures = 0
  let retryAtMs = 0

  async function renew(signal: AbortSignal): Promise<HeldToken | Fault> {
    const beganMs = clock()
    const first = await ask(deps, signal)
    const isRedated = 'kind' in first && first.code === 'proof_refused' && deps.redate?.() === true
    const answer = isRedated ? await ask(deps, signal) : first
    if ('kind' in answer) {
      const pauseMs = backOffMs(failures, { ...RETRY, random })
      failures += 1
      retryAtMs = clock() + (answer.retryAfterMs ?? 0) + pauseMs
      return answer
    }
    failures = 0
    const lifeMs = answer.expires_in * 1000
    return {
      token: answer.access_token,
      renewAtMs: beganMs + lifeMs * RENEW_AFTER,
      endsAtMs: beganMs + lifeMs,
    }
  }

  return {
    async token(signal) {
      const nowMs = clock()
      const present = held !== null && nowMs < held.endsAtMs ? held : null
      const isDue = present === null || (nowMs >= present.renewAtMs && nowMs >= retryAtMs)
      if (!isDue) return { kind: 'token', token: present.token }
      const renewed = await renew(signal)
      if (!('kind' in renewed)) {
        held = renewed
        return { kind: 'token', token: renewed.token }
      }
      // A revoked device must see the revocation, not keep using its old token.
      if (renewed.code === 'revoked') held = null
      return held === null || present === null ? renewed : { kind: 'token', token: present.token }
    },

    reject(token) {
      if (held?.token === token) held = null
    },
  }
}

interface Answer {
  readonly access_token: string
  readonly expires_in: number
}

async function ask(deps: DeviceAccessDeps, signal: AbortSignal): Promise<Answer | Fault> {
  const url = new URL(PATH, deps.server).href
  const timeout = AbortSignal.timeout(deps.timeoutMs)
  try {
    const response = await deps.fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json', dpop: deps.prove({ method: 'POST', url }) },
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    })
    if (response.status === 200)
      return readAnswer(await readBoundedBody(response.body, MAX_ANSWER_BYTES))
    if (await isForeign(response)) return foreignFault(`status ${response.status}`)
    await response.body?.cancel()
    return findBusyFault(response) ?? faultOfStatus(response.status)
  } catch (error) {
    if (signal.aborted) return fault('stopping', 'the agent is stopping')
    if (timeout.aborted)
      return fault('timeout', `the server did not answer within ${deps.timeoutMs} ms`)
    const cause: unknown = error instanceof Error ? (error.cause ?? error) : error
    return fault('unreachable', `cannot reach the server: ${describe(cause)}`)
  }
}

function readAnswer(body: Uint8Array | null): Answer | Fault {
  const json = body === null ? null : parseJson(Buffer.from(body).toString())
  const parsed = json?.ok === true ? deviceTokenResponseSchema.safeParse(json.value) : null
  // Refuses characters that could end the header line or hide in it (RFC 6750 §2.1).
  if (parsed?.success === true && /^[A-Za-z0-9._~+/=-]{1,512}$/.test(parsed.data.access_token))
    return parsed.data
  return foreignFault('no device token')
}

function faultOfStatus(status: number): Fault {
  if (status >= 300 && status < 400)
    return fault('redirected', `a redirect (${status}) instead of a device token (captive portal?)`)
  if (status === 401)
    return fault('revoked', 'the server no longer knows the key of this machine; enrol it again')
  if (status === 400)
    return fault(
      'proof_refused',
      'the server refuses the proof of this machine; is its clock right?',
    )
  return fault('http_status', `the server answered ${status}`)
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
