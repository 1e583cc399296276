import { BUNDLE_TYPE } from '@palisade/protocol'
import { CompactSign, importJWK } from 'jose'
import { createHash } from 'node:crypto'
import type { SigningKeyRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { authenticateDevice } from './authenticate-device.ts'
import { buildBundle } from './build-bundle.ts'
import { createBundleCache, type SignedBundle } from './bundle-cache.ts'

const HOUR_MS = 60 * 60 * 1000

export interface BundleService {
  /** The bundle of the device that the header names; throws ApiError 401 or 403. */
  fetch(authorizationHeader: string | undefined): Promise<SignedBundle>
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
  /** Runs the signing itself; for those who count how long it takes. */
  readonly timeSigning?: (sign: () => Promise<string>) => Promise<string>
}): Promise<BundleService> {
  const newest = deps.keys.at(-1)
  if (newest === undefined) throw new RangeError('a bundle service needs a signing key')
  const header = { alg: 'EdDSA', typ: BUNDLE_TYPE, kid: newest.kid }
  const key = await importJWK(newest.private_jwk, 'EdDSA')
  const cache = createBundleCache()
  const timeSigning = deps.timeSigning ?? ((work) => work())

  async function sign(claims: object): Promise<SignedBundle> {
    const body = await timeSigning(() =>
      new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(key),
    )
    return { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` }
  }

  return {
    async fetch(authorizationHeader) {
      const found = await deps.store.read(async (reader) => {
        const admitted = await authenticateDevice(reader, authorizationHeader)
        const issuedAtMs = startOfHour(deps.now().getTime(), admitted.device.id)
        const version = `${admitted.organization.revision}@${issuedAtMs}`
        const known = cache.find(admitted.device.id, version)
        if (known !== null) return { known }
        const claims = await buildBundle(reader, admitted, issuedAtMs)
        return { claims, deviceId: admitted.device.id, version }
      })
      if (found.known !== undefined) return found.known
      const signed = await sign(found.claims)
      cache.keep(found.deviceId, found.version, signed)
      return signed
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
