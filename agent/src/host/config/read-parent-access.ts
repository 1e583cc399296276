import { readPrivateFile } from '@palisade/client'
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { AgentError, systemErrorCode } from '../errors.ts'
import type { ParentSettings } from './parent-settings.ts'

const MAX_CREDENTIALS_BYTES = 4_096

/** The parent proxy with the content of its files. */
export interface ParentAccess extends ParentSettings {
  /** Value of `Proxy-Authorization`; null without credentials. Never logged or shown. */
  readonly authorization: string | null
  /** PEM; null for the usual authorities. */
  readonly ca: string | null
}

/**
 * Reads the files that the settings name.
 *
 * Throws `ERR_CONFIG_INVALID` with one line for each unusable file, without its content.
 */
export async function readParentAccess(settings: ParentSettings): Promise<ParentAccess> {
  const problems: string[] = []
  const authorization =
    settings.credentialsPath === null
      ? null
      : await readAuthorization(settings.credentialsPath, problems)
  const ca = settings.caPath === null ? null : await readAuthority(settings.caPath, problems)
  if (problems.length > 0) throw new AgentError('ERR_CONFIG_INVALID', problems)
  return { ...settings, authorization, ca }
}

async function readAuthorization(path: string, problems: string[]): Promise<string | null> {
  const file = await readPrivateFile(path, MAX_CREDENTIALS_BYTES)
  const line = file.ok ? file.text.replace(/\r?\n$/, '') : ''
  // A colon ends the user, and a control character would end the line (RFC 7617 §2).
  if (file.ok && /^[^:\p{Cc}]+:\P{Cc}*$/u.test(line))
    return `Basic ${Buffer.from(line, 'utf8').toString('base64')}`
  const message = file.ok ? 'must hold one line `user:password`' : file.message
  problems.push(`PALISADE_PARENT_PROXY_CREDENTIALS: the file ${message}`)
  return null
}

async function readAuthority(path: string, problems: string[]): Promise<string | null> {
  const refuse = (message: string): null => {
    problems.push(`PALISADE_PARENT_CA: \`${path}\` ${message}`)
    return null
  }
  let pem: string
  try {
    pem = await readFile(path, 'utf8')
  } catch (error) {
    return refuse(`cannot be read (${systemErrorCode(error) ?? 'unknown error'})`)
  }
  // Node ignores a text without certificates, and would then trust no authority.
  return isCertificate(pem) ? pem : refuse('holds no certificate in PEM form')
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== ''
  } catch {
    return false
  }
}
