import type { DeviceKey } from '@palisade/protocol'
import { createPrivateKey, hash, randomUUID, sign } from 'node:crypto'

export interface ProvenRequest {
  readonly method: string
  /** Without query and fragment. */
  readonly url: string
  /** The device token that is sent beside the proof, if any. */
  readonly accessToken?: string
}

/** Creates a proof for one request. A server accepts each proof only once. */
export type Prove = (request: ProvenRequest) => string

/**
 * Proofs of a key for the header `DPoP` (RFC 9449): a compact JWS (RFC 7515) with EdDSA (RFC 8037).
 * `clock` returns epoch milliseconds. A server tolerates a difference of five minutes.
 */
export function createProver(key: DeviceKey, clock: () => number): Prove {
  const { d: _private, ...jwk } = key
  const privateKey = createPrivateKey({ key: { ...key }, format: 'jwk' })
  const header = encode({ typ: 'dpop+jwt', alg: 'EdDSA', jwk })

  return ({ method, url, accessToken }) => {
    const claims = {
      htm: method,
      htu: url,
      iat: Math.floor(clock() / 1000),
      jti: randomUUID(),
      ...(accessToken === undefined ? {} : { ath: hash('sha256', accessToken, 'base64url') }),
    }
    const signed = `${header}.${encode(claims)}`
    return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
