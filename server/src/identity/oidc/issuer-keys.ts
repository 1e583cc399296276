import { calculateJwkThumbprint, type JWK } from 'jose'
import { z } from 'zod'
import type { Log } from '../../operations/log/create-log.ts'
import { fetchJson, FetchError, type FetchLimits } from './fetch-json.ts'
import { discoveryUrlOf, isKeySetUrl } from './issuer-url.ts'

/** After this the keys are fetched anew at the next token; a key withdrawn counts no later. */
export const FRESH_MS = 10 * 60_000
/** How long keys serve while the issuer cannot be reached. */
export const LONGEST_MS = 60 * 60_000
/** Between two attempts, whatever tokens arrive: nobody makes us a flood for the issuer. */
export const PAUSE_MS = 30_000

const LIMITS: FetchLimits = { timeoutMs: 5000, maxBytes: 256 * 1024 }
const MAX_KEYS = 100

/** A public key of the issuer; `thumbprint` (RFC 7638) tells keys apart that share a `kid`. */
export interface IssuerKey {
  readonly thumbprint: string
  readonly jwk: JWK
}

/** The keys that an issuer publishes, fetched when they are first asked for. */
export interface IssuerKeys {
  /** Null for a key that it does not publish, or that cannot be known at the moment. */
  find(kid: string): Promise<IssuerKey | null>
}

interface KeySet {
  readonly keys: ReadonlyMap<string, IssuerKey>
  readonly fetchedMs: number
}

const discoverySchema = z.object({ issuer: z.string(), jwks_uri: z.string() })
const keySetSchema = z.object({ keys: z.array(z.unknown()).max(MAX_KEYS) })
/** A key for signatures. Other keys in the set, such as those for encryption, need no member. */
const signingKeySchema = z.looseObject({
  kty: z.enum(['RSA', 'EC', 'OKP']),
  kid: z.string().min(1).max(255),
  use: z.literal('sig').optional(),
})

export function createIssuerKeys(deps: {
  readonly issuer: string
  readonly log: Pick<Log, 'warn'>
  readonly now: () => Date
  readonly limits?: FetchLimits
}): IssuerKeys {
  const { issuer, log, now, limits = LIMITS } = deps
  let known: KeySet | null = null
  let attemptedMs = Number.NEGATIVE_INFINITY
  let hasFailed = false
  let running: Promise<void> | null = null

  /** Never rejects; shared by all who ask meanwhile. */
  function refresh(): Promise<void> {
    if (running !== null) return running
    if (isWithin(attemptedMs, PAUSE_MS)) return Promise.resolve()
    attemptedMs = now().getTime()
    running = attempt(attemptedMs)
    return running
  }

  async function attempt(fetchedMs: number): Promise<void> {
    try {
      known = { keys: await fetchKeys(issuer, limits), fetchedMs }
      hasFailed = false
    } catch (error) {
      hasFailed = true
      const reason = error instanceof FetchError ? error.message : 'an unexpected error'
      log.warn({ reason }, 'the keys of the OIDC issuer could not be fetched')
    } finally {
      running = null
    }
  }

  /** False also for a time to come: a clock that was set back must not keep keys for longer. */
  function isWithin(sinceMs: number, ms: number): boolean {
    const age = now().getTime() - sinceMs
    return age >= 0 && age < ms
  }

  function lookUp(kid: string): IssuerKey | null {
    return known !== null && isWithin(known.fetchedMs, LONGEST_MS)
      ? (known.keys.get(kid) ?? null)
      : null
  }

  return {
    async find(kid) {
      const key = lookUp(kid)
      if (key !== null && known !== null && isWithin(known.fetchedMs, FRESH_MS)) return key
      const refreshed = refresh()
      // While the issuer is away nobody waits for it who has a key that still serves.
      if (key !== null && hasFailed) return key
      await refreshed
      return lookUp(kid)
    },
  }
}

async function fetchKeys(
  issuer: string,
  limits: FetchLimits,
): Promise<ReadonlyMap<string, IssuerKey>> {
  const discoveryUrl = discoveryUrlOf(issuer)
  const discovery = discoverySchema.safeParse(await fetchJson(discoveryUrl, limits))
  if (!discovery.success) throw new FetchError(`\`${discoveryUrl}\` is no discovery document`)
  // OpenID Connect Discovery §4.3: or one issuer could speak for another.
  if (discovery.data.issuer !== issuer)
    throw new FetchError(`\`${discoveryUrl}\` describes another issuer`)
  const { jwks_uri } = discovery.data
  if (!isKeySetUrl(jwks_uri, issuer))
    throw new FetchError(`\`jwks_uri\` of \`${discoveryUrl}\` must begin with \`https://\``)
  const keySet = keySetSchema.safeParse(await fetchJson(jwks_uri, limits))
  if (!keySet.success) throw new FetchError(`\`${jwks_uri}\` is no key set`)
  return readKeys(keySet.data.keys)
}

/** The keys that may have signed a token. A `kid` that two of them share names neither. */
async function readKeys(candidates: readonly unknown[]): Promise<Map<string, IssuerKey>> {
  const keys = new Map<string, IssuerKey>()
  const ambiguous = new Set<string>()
  for (const candidate of candidates) {
    const jwk = signingKeySchema.safeParse(candidate).data as (JWK & { kid: string }) | undefined
    if (jwk === undefined) continue
    const thumbprint = await calculateJwkThumbprint(jwk).catch(() => null)
    if (thumbprint === null) continue
    if (keys.has(jwk.kid)) ambiguous.add(jwk.kid)
    keys.set(jwk.kid, { thumbprint, jwk })
  }
  for (const kid of ambiguous) keys.delete(kid)
  return keys
}
