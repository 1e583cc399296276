import { unexpected } from '../client-error.ts'
import { tokenResponseSchema } from '@palisade/protocol'
import { parseAnswer } from '../parse-answer.ts'
import { exchange, type Wire } from './exchange.ts'

/** A long-lived secret: account password, personal token, or organization token. */
export interface Credentials {
  /** The name of the user, or of the organization for an organization token. */
  readonly username: string
  readonly secret: string
}

export interface AccessTokenSource {
  /** Returns a valid token. Concurrent callers share one exchange. */
  get(): Promise<string>
  /** Drops `token`, unless a newer one has replaced it already. */
  reject(token: string): void
}

/** Share of its lifetime after which a token is renewed, before a request fails. */
const RENEW_AT = 0.8

/** Exchanges `credentials` when needed and keeps the access token in memory only. */
export function createAccessTokenSource(
  wire: Wire,
  credentials: Credentials,
  now: () => number,
): AccessTokenSource {
  let held: { readonly token: string; readonly renewAtMs: number } | null = null
  let running: Promise<string> | null = null

  async function renew(): Promise<string> {
    const askedAtMs = now()
    const text = await exchange(wire, {
      method: 'POST',
      path: '/v2/auth/token',
      body: { username: credentials.username, password: credentials.secret },
    })
    const answer = parseAnswer(tokenResponseSchema, text)
    if (!/^[\x21-\x7e]+$/.test(answer.access_token))
      throw unexpected('the access token cannot stand in a header')
    held = {
      token: answer.access_token,
      renewAtMs: askedAtMs + answer.expires_in * 1000 * RENEW_AT,
    }
    return held.token
  }

  return {
    async get() {
      if (held !== null && now() < held.renewAtMs) return held.token
      running ??= renew().finally(() => {
        running = null
      })
      return running
    },
    reject(token) {
      if (held?.token === token) held = null
    },
  }
}
