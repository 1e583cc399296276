import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

/** Where certificate and private key are, as absolute paths of PEM files. */
export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
}

/** A certificate that may be served, with those that lead to its authority, and its key: PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
  readonly expiresAt: Date
}

/** `ERR_CERTIFICATE_INVALID`: why the files cannot be served; one line for each problem. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
  readonly code = 'ERR_CERTIFICATE_INVALID'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/**
 * Members of the group may read the key, so that a group of its own can hold it; others may not.
 */
const FORBIDDEN_MODE = 0o037

/**
 * Reads both files. Throws CertificateError unless the key belongs to the first certificate, which
 * is valid at `now`, and other users cannot read the key.
 */
export function loadCertificate(files: CertificateFiles, now: Date): Certificate {
  const problems: string[] = []
  const attempt = <T>(work: () => T): T | null => {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error
      problems.push(...error.problems)
      return null
    }
  }
  const cert = attempt(() => readText(files.certificate))
  const leaf = cert === null ? null : attempt(() => parseLeaf(files.certificate, cert))
  if (leaf !== null) attempt(() => requireValid(files.certificate, leaf, now))
  attempt(() => requirePrivate(files.key))
  const key = attempt(() => readText(files.key))
  const parsedKey = key === null ? null : attempt(() => parseKey(files.key, key))
  if (leaf !== null && parsedKey !== null && !leaf.checkPrivateKey(parsedKey))
    problems.push(
      `key \`${files.key}\` does not belong to certificate \`${files.certificate}\`; ` +
        "the server's own certificate must be the first in its file",
    )
  if (problems.length > 0 || cert === null || key === null || leaf === null)
    throw new CertificateError(problems)
  requireUsable(files.certificate, cert, key)
  return { cert, key, expiresAt: leaf.validToDate }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CertificateError([`\`${path}\` cannot be read${codeOf(error)}`])
  }
}

function parseLeaf(path: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text)
  } catch {
    throw new CertificateError([`\`${path}\` is not a certificate; it must be PEM`])
  }
}

function parseKey(path: string, text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch {
    throw new CertificateError([
      `\`${path}\` is not a private key; it must be PEM, without a passphrase`,
    ])
  }
}

function requireValid(path: string, leaf: X509Certificate, now: Date): void {
  const until = leaf.validToDate
  if (now.getTime() >= until.getTime())
    throw new CertificateError([
      `certificate \`${path}\` expired on ${until.toISOString()}; renew it`,
    ])
  const from = leaf.validFromDate
  if (now.getTime() < from.getTime())
    throw new CertificateError([
      `certificate \`${path}\` is not valid before ${from.toISOString()}; check the clock`,
    ])
}

function requirePrivate(path: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & FORBIDDEN_MODE) !== 0)
    throw new CertificateError([
      `key \`${path}\` has mode ${(mode & 0o777).toString(8)} and is readable by others; ` +
        'run `chmod 600` on it',
    ])
}

/** Only TLS itself finds the remaining faults, such as a broken second certificate. */
function requireUsable(path: string, cert: string, key: string): void {
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new CertificateError([`certificate \`${path}\` cannot be served${codeOf(error)}`])
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
}
