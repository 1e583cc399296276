import { resolve } from 'node:path'
import { z } from 'zod'
import { isIssuerUrl } from './accounts/oidc/issuer-url.ts'
import type { OidcSettings } from './accounts/oidc/external-token.ts'
import { isAddressRange, parseTrustedProxies, type TrustedProxies } from './http/trusted-proxies.ts'
import { parseDatabaseUrl } from './store/postgres/database-url.ts'
import type { CertificateFiles } from './tls/certificate.ts'

/** Settings of the server, read once from the environment. */
export interface Config {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** Absolute. */
  readonly dataDir: string
  /** PostgreSQL, with its password; null for SQLite in `dataDir`. */
  readonly databaseUrl: string | null
  /** Connections that serve reads; each server has two more. */
  readonly databaseConnections: number
  /** Null to speak plain HTTP. */
  readonly tls: CertificateFiles | null
  /** Origin under which clients reach the server; null for that of host and port. */
  readonly publicUrl: string | null
  readonly accessTokenMinutes: number
  /** The external issuer whose access tokens are accepted; null for none. */
  readonly oidc: OidcSettings | null
  readonly logLevel: (typeof LOG_LEVELS)[number]
  readonly trustedProxies: TrustedProxies
  /** Addresses and ranges that webhooks may be delivered to besides the public internet. */
  readonly webhookNetworks: readonly string[]
  /** How long to go on serving, not ready any more, after the first signal to stop. */
  readonly stopDelayMs: number
  readonly metrics: {
    /** Whether there is `/metrics`. */
    readonly enabled: boolean
    /** Bearer token that it asks for; null for none. */
    readonly token: string | null
  }
  /** Null while traces are neither recorded nor exported. */
  readonly tracing: {
    readonly serviceName: string
    /** Share of the traces that are recorded, from 0 to 1. */
    readonly ratio: number
  } | null
  /** How long a device's last poll is kept in memory before it is written; 0 forgets it. */
  readonly lastSeenMs: number
  readonly limits: {
    readonly maxPolicies: number
    readonly maxRules: number
    readonly maxPolicyBytes: number
  }
}

/** `ERR_CONFIG_INVALID`: what keeps the server from starting; one line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'ERR_CONFIG_INVALID'
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options: { cause?: unknown } = {}) {
    super(problems.join('\n'), options)
    this.problems = problems
  }
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const LARGEST = 2 ** 31 - 1
const CLAIM = /^[A-Za-z0-9_.:/-]{1,128}$/
const BEARER_SECRET = /^[A-Za-z0-9._~+/-]{16,512}$/

const environmentSchema = z.object({
  PALISADE_HOST: z
    .string()
    .regex(/^\S+$/, 'must be a host name or an IP address')
    .default('127.0.0.1'),
  PALISADE_PORT: wholeNumber(0, 65_535).default(8420),
  PALISADE_DATA_DIR: z.string().min(1, 'must be the path of a directory').default('.palisade'),
  PALISADE_PUBLIC_URL: z
    .string()
    .refine(isOrigin, 'must be an origin such as `https://palisade.example.com`, without a path')
    .optional(),
  PALISADE_TLS_CERT: z.string().min(1, 'must be the path of a PEM file').optional(),
  PALISADE_TLS_KEY: z.string().min(1, 'must be the path of a PEM file').optional(),
  PALISADE_ACCESS_TOKEN_MINUTES: wholeNumber(1, 60).default(15),
  PALISADE_OIDC_ISSUER: z
    .string()
    .refine(
      isIssuerUrl,
      'must be an `https://` URL, exactly as in `iss` of its tokens, without query; `http://` on loopback only',
    )
    .optional(),
  PALISADE_OIDC_AUDIENCE: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 characters of ASCII without blanks')
    .optional(),
  PALISADE_OIDC_USERNAME_CLAIM: z.string().regex(CLAIM, 'must be the name of a claim').optional(),
  PALISADE_OIDC_TEAMS_CLAIM: z.string().regex(CLAIM, 'must be the name of a claim').optional(),
  PALISADE_LOG_LEVEL: z
    .enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` })
    .default('info'),
  PALISADE_TRUST_PROXY: z.string().default('off').transform(readTrustedProxies),
  PALISADE_WEBHOOK_NETWORKS: z.string().default('').transform(readNetworks),
  PALISADE_STOP_DELAY_SECONDS: wholeNumber(0, 300).default(0),
  PALISADE_METRICS: z.enum(['on', 'off'], { error: 'must be on or off' }).default('on'),
  PALISADE_METRICS_TOKEN: z
    .string()
    .regex(BEARER_SECRET, 'must be 16 or more of A-Z, a-z, 0-9 and ._~+/-')
    .optional(),
  PALISADE_LAST_SEEN_SECONDS: wholeNumber(0, 3600).default(60),
  PALISADE_MAX_POLICIES: wholeNumber(1, LARGEST).default(100),
  PALISADE_MAX_RULES: wholeNumber(1, LARGEST).default(250),
  PALISADE_MAX_POLICY_BYTES: wholeNumber(1, LARGEST).default(409_600),
  PALISADE_DATABASE_CONNECTIONS: wholeNumber(1, 1000).default(10),
  DATABASE_URL: z.string().superRefine(checkDatabaseUrl).default(''),
})

const httpUrl = z
  .string()
  .refine((text) => text === '' || isHttpUrl(text), 'must be a URL such as `http://127.0.0.1:4318`')
  .default('')

/** By the names of OpenTelemetry, where an empty value is none; its exporter reads the rest. */
const tracingSchema = z.object({
  OTEL_TRACES_EXPORTER: z.enum(['', 'otlp', 'none'], { error: 'must be otlp or none' }).default(''),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl,
  OTEL_SERVICE_NAME: z.string().default(''),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(|0|1|0?\.\d{1,9}|[01]\.0{0,9})$/, 'must be a number from 0 to 1')
    .default(''),
})

/** Every setting by its name. */
export const SETTING_NAMES: readonly string[] = Object.keys({
  ...environmentSchema.shape,
  ...tracingSchema.shape,
})

/** Reads `PALISADE_*`; throws ConfigError with every problem. Values are not echoed. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Config {
  const result = environmentSchema.safeParse(environment)
  const tracing = tracingSchema.safeParse(environment)
  const problems = [
    ...describeIssues(result.error),
    ...describeIssues(tracing.error),
    ...unpaired(environment),
    ...incompleteOidc(environment),
  ]
  if (!result.success || !tracing.success || problems.length > 0) throw new ConfigError(problems)
  const settings = result.data
  return {
    host: settings.PALISADE_HOST,
    port: settings.PALISADE_PORT,
    dataDir: resolve(cwd, settings.PALISADE_DATA_DIR),
    databaseUrl: settings.DATABASE_URL === '' ? null : settings.DATABASE_URL,
    databaseConnections: settings.PALISADE_DATABASE_CONNECTIONS,
    tls: readCertificateFiles(settings, cwd),
    publicUrl: settings.PALISADE_PUBLIC_URL ?? null,
    accessTokenMinutes: settings.PALISADE_ACCESS_TOKEN_MINUTES,
    oidc: readOidc(settings),
    logLevel: settings.PALISADE_LOG_LEVEL,
    trustedProxies: settings.PALISADE_TRUST_PROXY,
    webhookNetworks: settings.PALISADE_WEBHOOK_NETWORKS,
    stopDelayMs: settings.PALISADE_STOP_DELAY_SECONDS * 1000,
    metrics: {
      enabled: settings.PALISADE_METRICS === 'on',
      token: settings.PALISADE_METRICS_TOKEN ?? null,
    },
    tracing: readTracing(tracing.data),
    lastSeenMs: settings.PALISADE_LAST_SEEN_SECONDS * 1000,
    limits: {
      maxPolicies: settings.PALISADE_MAX_POLICIES,
      maxRules: settings.PALISADE_MAX_RULES,
      maxPolicyBytes: settings.PALISADE_MAX_POLICY_BYTES,
    },
  }
}

/** `readConfig` for this process. */
export function readProcessConfig(): Config {
  return readConfig(process.env, process.cwd())
}

/** Tells whether the text is `http(s)://host[:port]` and nothing more. */
export function isOrigin(text: string): boolean {
  return /^https?:\/\/[^/\\?#@\s]+$/.test(text) && URL.canParse(text)
}

function checkDatabaseUrl(text: string, context: z.RefinementCtx): void {
  if (text === '') return
  try {
    parseDatabaseUrl(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    context.addIssue({ code: 'custom', message: error.message })
  }
}

function readTracing(settings: z.infer<typeof tracingSchema>): Config['tracing'] {
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_TRACES_SAMPLER_ARG: ratio } = settings
  const hasEndpoint =
    settings.OTEL_EXPORTER_OTLP_ENDPOINT !== '' ||
    settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== ''
  if (exporter === 'none' || (exporter === '' && !hasEndpoint)) return null
  return {
    serviceName: settings.OTEL_SERVICE_NAME || 'palisade-server',
    ratio: ratio === '' ? 1 : Number(ratio),
  }
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text)
}

function describeIssues(error: z.ZodError | undefined): string[] {
  return (error?.issues ?? []).map((issue) => `\`${issue.path.join('.')}\` ${issue.message}`)
}

/** A certificate without its key, or the other way round. */
function unpaired(environment: Readonly<Record<string, string | undefined>>): string[] {
  const names = ['PALISADE_TLS_CERT', 'PALISADE_TLS_KEY'] as const
  const missing = names.filter((name) => environment[name] === undefined)
  return missing.length === 1
    ? [`\`${missing.join()}\` must be set as well: TLS needs a certificate and its key`]
    : []
}

/** An issuer without audience would let in who has a token for any other service of his. */
function incompleteOidc(environment: Readonly<Record<string, string | undefined>>): string[] {
  const others = ['AUDIENCE', 'USERNAME_CLAIM', 'TEAMS_CLAIM'].map((end) => `PALISADE_OIDC_${end}`)
  if (environment['PALISADE_OIDC_ISSUER'] === undefined)
    return others.some((name) => environment[name] !== undefined)
      ? ['`PALISADE_OIDC_ISSUER` must be set as well: the other `PALISADE_OIDC_*` belong to it']
      : []
  return environment['PALISADE_OIDC_AUDIENCE'] === undefined
    ? ['`PALISADE_OIDC_AUDIENCE` must be set as well: what the issuer calls this server in `aud`']
    : []
}

function readOidc(settings: z.infer<typeof environmentSchema>): OidcSettings | null {
  const { PALISADE_OIDC_ISSUER: issuer, PALISADE_OIDC_AUDIENCE: audience } = settings
  if (issuer === undefined || audience === undefined) return null
  return {
    issuer,
    audience,
    // The one claim that no user can change and no other user ever gets (OIDC Core §5.7).
    usernameClaim: settings.PALISADE_OIDC_USERNAME_CLAIM ?? 'sub',
    teamsClaim: settings.PALISADE_OIDC_TEAMS_CLAIM ?? null,
  }
}

function readCertificateFiles(
  settings: { readonly [Name in 'PALISADE_TLS_CERT' | 'PALISADE_TLS_KEY']?: string | undefined },
  cwd: string,
): CertificateFiles | null {
  const { PALISADE_TLS_CERT: certificate, PALISADE_TLS_KEY: key } = settings
  if (certificate === undefined || key === undefined) return null
  return { certificate: resolve(cwd, certificate), key: resolve(cwd, key) }
}

function readNetworks(text: string, context: z.RefinementCtx): readonly string[] {
  const networks = text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]))
  if (networks.every(isAddressRange)) return networks
  const message = 'must be addresses and ranges with commas, such as `10.1.2.0/24,192.168.7.9`'
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

function readTrustedProxies(text: string, context: z.RefinementCtx): TrustedProxies {
  const trusted = parseTrustedProxies(text)
  if (trusted !== null) return trusted
  context.addIssue(
    'must be off, a number of proxies from 1 to 9, or addresses and ranges such as `10.0.0.0/8, ::1`',
  )
  return z.NEVER
}

function wholeNumber(least: number, most: number) {
  const message = `must be a whole number from ${least} to ${most}`
  return z
    .string()
    .regex(/^\d{1,10}$/, message)
    .transform(Number)
    .refine((value) => value >= least && value <= most, message)
}
