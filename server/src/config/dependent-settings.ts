import { resolve } from 'node:path'
import type { z } from 'zod'
import type { OidcSettings } from '../identity/oidc/external-token.ts'
import type { CertificateFiles } from '../operations/tls/certificate.ts'
import type { environmentSchema } from './environment-schema.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns one line for each missing setting that another setting requires. */
export function findMissingSettings(environment: Environment): string[] {
  return [...findIncompleteTls(environment), ...findIncompleteOidc(environment)]
}

/** Finds a certificate without its key, and a key without its certificate. */
function findIncompleteTls(environment: Environment): string[] {
  const names = ['PALISADE_TLS_CERT', 'PALISADE_TLS_KEY'] as const
  const missing = names.filter((name) => environment[name] === undefined)
  return missing.length === 1
    ? [`\`${missing.join()}\` must be set as well: TLS needs a certificate and its key`]
    : []
}

/** An issuer without an audience would admit its tokens for any other service. */
function findIncompleteOidc(environment: Environment): string[] {
  const others = ['AUDIENCE', 'USERNAME_CLAIM', 'TEAMS_CLAIM'].map((end) => `PALISADE_OIDC_${end}`)
  if (environment['PALISADE_OIDC_ISSUER'] === undefined)
    return others.some((name) => environment[name] !== undefined)
      ? ['`PALISADE_OIDC_ISSUER` must be set as well: the other `PALISADE_OIDC_*` need it']
      : []
  return environment['PALISADE_OIDC_AUDIENCE'] === undefined
    ? ['`PALISADE_OIDC_AUDIENCE` must be set as well: the name of this server in `aud`']
    : []
}

export function readOidc(settings: z.infer<typeof environmentSchema>): OidcSettings | null {
  const { PALISADE_OIDC_ISSUER: issuer, PALISADE_OIDC_AUDIENCE: audience } = settings
  if (issuer === undefined || audience === undefined) return null
  return {
    issuer,
    audience,
    // The only claim that a user cannot change and another user never gets (OIDC Core §5.7).
    usernameClaim: settings.PALISADE_OIDC_USERNAME_CLAIM ?? 'sub',
    teamsClaim: settings.PALISADE_OIDC_TEAMS_CLAIM ?? null,
  }
}

export function readCertificateFiles(
  settings: { readonly [Name in 'PALISADE_TLS_CERT' | 'PALISADE_TLS_KEY']?: string | undefined },
  cwd: string,
): CertificateFiles | null {
  const { PALISADE_TLS_CERT: certificate, PALISADE_TLS_KEY: key } = settings
  if (certificate === undefined || key === undefined) return null
  return { certificate: resolve(cwd, certificate), key: resolve(cwd, key) }
}
