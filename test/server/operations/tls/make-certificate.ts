import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

/** Content of a certificate. */
export interface CertificateRequest {
  readonly name: string
  readonly from?: Date
  readonly until?: Date
  /** The issuer; absent for a self-signed certificate. */
  readonly authority?: Issued
}

/** A certificate and its key, as PEM. */
export interface Issued {
  readonly cert: string
  readonly key: string
  readonly name: string
  readonly privateKey: KeyObject
}

// DER of the object identifiers (RFC 5280, RFC 5758).
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex')
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')
const TRUE = Buffer.from('0101ff', 'hex')

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * A P-256 certificate for `localhost` and 127.0.0.1, or of an authority if it is self-signed.
 * Encoded by hand, because Node cannot create certificates and openssl may be missing.
 */
export function makeCertificate(request: CertificateRequest): Issued {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = request.authority ?? { name: request.name, privateKey }
  const from = request.from ?? new Date(Date.now() - DAY_MS)
  const until = request.until ?? new Date(Date.now() + 365 * DAY_MS)
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    sequence(ECDSA_WITH_SHA256),
    nameOf(issuer.name),
    sequence(time(from), time(until)),
    nameOf(request.name),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(request.authority === undefined ? authority() : alternativeNames())),
  )
  const signature = sign('sha256', body, issuer.privateKey)
  const der = sequence(
    body,
    sequence(ECDSA_WITH_SHA256),
    tagged(0x03, Buffer.concat([Buffer.from([0]), signature])),
  )
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    name: request.name,
    privateKey,
  }
}

function authority(): Buffer {
  return sequence(BASIC_CONSTRAINTS, TRUE, tagged(0x04, sequence(TRUE)))
}

function alternativeNames(): Buffer {
  const names = sequence(
    tagged(0x82, Buffer.from('localhost')),
    tagged(0x87, Buffer.from([127, 0, 0, 1])),
  )
  return sequence(SUBJECT_ALT_NAME, tagged(0x04, names))
}

function nameOf(text: string): Buffer {
  return sequence(tagged(0x31, sequence(COMMON_NAME, tagged(0x0c, Buffer.from(text)))))
}

/** GeneralizedTime. */
function time(date: Date): Buffer {
  return tagged(0x18, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, '')))
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
