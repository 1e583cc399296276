import { createHash, createPrivateKey, randomUUID, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * What a machine sends beside a request (RFC 9449): who holds its key file may ask as the machine.
 *
 * @param {string} keyFile
 * @returns {(method: string, url: string, token?: string) => string}
 */
export function createProver(keyFile) {
  const { d, ...jwk } = JSON.parse(readFileSync(keyFile, 'utf8'))
  const key = createPrivateKey({ key: { ...jwk, d }, format: 'jwk' })
  const header = encode({ typ: 'dpop+jwt', alg: 'EdDSA', jwk })
  return (method, url, token) => {
    const claims = { htm: method, htu: url, iat: Math.floor(Date.now() / 1000), jti: randomUUID() }
    const ath = token === undefined ? {} : { ath: hash(token) }
    const signed = `${header}.${encode({ ...claims, ...ath })}`
    return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
  }
}

/** @param {object} value */
function encode(value) {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** @param {string} text */
function hash(text) {
  return createHash('sha256').update(text).digest('base64url')
}
