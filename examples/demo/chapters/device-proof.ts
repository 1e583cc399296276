import { createHash, createPrivateKey, randomUUID, sign, type JsonWebKey } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Makes a proof for one request, and for its access token if there is one. */
export type Prover = (method: string, url: string, token?: string) => string

/**
 * Proves to the server that a request comes from the machine (RFC 9449): the holder of its key file
 * may ask as the machine.
 */
export function createProver(keyFile: string): Prover {
  const { d, ...jwk } = JSON.parse(readFileSync(keyFile, 'utf8')) as JsonWebKey & { d: string }
  const key = createPrivateKey({ key: { ...jwk, d }, format: 'jwk' })
  const header = encode({ typ: 'dpop+jwt', alg: 'EdDSA', jwk })
  return (method, url, token) => {
    const claims = { htm: method, htu: url, iat: Math.floor(Date.now() / 1000), jti: randomUUID() }
    const ath = token === undefined ? {} : { ath: hash(token) }
    const signed = `${header}.${encode({ ...claims, ...ath })}`
    return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
