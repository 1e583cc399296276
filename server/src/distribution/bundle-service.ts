import { BUNDLE_TYPE } from '@palisade/protocol'
import { CompactSign, importJWK } from 'jose'
import { createHash, hash } from 'node:crypto'
import { parseBearer } from '../accounts/bearer.ts'
import type { SigningKeyRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { hashSecretToken } from '../tokens/secret-token.ts'
import { authenticateDevice } from './authenticate-device.ts'
import { buildBundle } from './build-bundle.ts'
import { createBundleCache, type SignedBundle } from './bundle-cache.ts'
import { createKnownDevices } from './known-devices.ts'
import type { LastSeen } from './last-seen.ts'

const HOUR_MS = 60 * 60 * 1000

/** What is known of a device's bundle without asking the store. */
export interface KnownBundle {
  readonly etag: string
  /** Null when it was dropped to make room; `fetch` makes it again. */
  body(): Buffer | null
}

export interface BundleService {
  /**
   * The bundle of a device that was admitted before, while nothing has been committed since and
   * its hour is not over; null means that `fetch` must be asked. Throws ApiError 401.
   */
  known(authorizationHeader: string | undefined): KnownBundle | null
  /**
   * The bundle of the device that the header names; its body is null unless `isWanted`. Throws
   * ApiError 401 or 403, and whatever `isWanted` throws.
   */
  fetch(
    authorizationHeader: string | undefined,
    isWanted: (etag: string) => boolean,
  ): Promise<{ readonly etag: string; readonly body: Buffer | null }>
}

/**
 * Signs with the newest of `keys` (oldest first, at least one).
 *
 * A bundle is issued at the start of the hour it is asked in: freshness is renewed by a new
 * signature every hour, and within the hour the same device and revision give the same bytes,
 * also after a restart and on another server of the same store (Ed25519 is deterministic).
 */
export async function createBundleService(deps: {
  readonly store: Store
  readonly keys: readonly SigningKeyRecord[]
  readonly now: () => Date
  /** Told of every device that was let in. */
  readonly lastSeen: Pick<LastSeen, 'record'>
  /** Runs the signing itself; for those who count how long it takes. */
  readonly timeSigning?: (sign: () => Promise<string>) => Promise<string>
}): Promise<BundleService> {
  const newest = deps.keys.at(-1)
  if (newest === undefined) throw new RangeError('a bundle service needs a signing key')
  const header = { alg: 'EdDSA', typ: BUNDLE_TYPE, kid: newest.kid }
  const key = await importJWK(newest.private_jwk, 'EdDSA')
  const cache = createBundleCache()
  const devices = createKnownDevices()
  const timeSigning = deps.timeSigning ?? ((work) => work())

  async function sign(claims: object): Promise<SignedBundle> {
    const body = await timeSigning(() =>
      new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(key),
    )
    const etag = `"${hash('sha256', body, 'base64url')}"`
    return { body: Buffer.from(body, 'latin1'), etag }
  }

  return {
    known(authorizationHeader) {
      const device = devices.find(hashSecretToken(parseBearer(authorizationHeader)))
      if (device === null || device.generation !== deps.store.generation()) return null
      const nowMs = deps.now().getTime()
      if (nowMs < device.fromMs || nowMs >= device.untilMs) return null
      const { deviceId, version, etag } = device
      deps.lastSeen.record(deviceId, nowMs)
      return { etag, body: () => cache.find(deviceId, version)?.body ?? null }
    },

    async fetch(authorizationHeader, isWanted) {
      const tokenHash = hashSecretToken(parseBearer(authorizationHeader))
      const before = devices.find(tokenHash)
      devices.drop(tokenHash)
      // Asked first: what is committed while the store is read makes the answer an old one.
      const generation = deps.store.generation()
      const found = await deps.store.read(async (reader) => {
        const admitted = await authenticateDevice(reader, authorizationHeader)
        const deviceId = admitted.device.id
        const fromMs = startOfHour(deps.now().getTime(), deviceId)
        const version = `${admitted.organization.revision}@${fromMs}`
        const etag = before?.version === version ? before.etag : null
        const bundle = cache.find(deviceId, version)
        const isEnough = bundle !== null || (etag !== null && !isWanted(etag))
        const claims = isEnough ? null : await buildBundle(reader, admitted, fromMs)
        return { device: { deviceId, generation, fromMs, version }, etag, bundle, claims }
      })
      const { device, claims } = found
      deps.lastSeen.record(device.deviceId, deps.now().getTime())
      const bundle = claims === null ? found.bundle : await sign(claims)
      if (claims !== null && bundle !== null) cache.keep(device.deviceId, device.version, bundle)
      const etag = bundle?.etag ?? found.etag ?? ''
      devices.keep(tokenHash, { ...device, etag, untilMs: device.fromMs + HOUR_MS })
      return { etag, body: isWanted(etag) ? (bundle?.body ?? null) : null }
    },
  }
}

/**
 * Every device has an hour of its own, so that a fleet does not fetch anew all at once when the
 * clock strikes.
 */
function startOfHour(nowMs: number, deviceId: string): number {
  const offset = createHash('sha256').update(deviceId).digest().readUInt32BE() % HOUR_MS
  return Math.floor((nowMs - offset) / HOUR_MS) * HOUR_MS + offset
}
