import { resolve } from 'node:path'
import type { z } from 'zod'
import type { Quotas } from '../identity/limits/quotas.ts'
import type { WriteRates } from '../identity/limits/write-limits.ts'
import type { OidcSettings } from '../identity/oidc/external-token.ts'
import type { TrustedProxies } from '../http/trusted-proxies.ts'
import type { CertificateFiles } from '../operations/tls/certificate.ts'
import { ConfigError } from '../platform/config-error.ts'
import { environmentSchema, type LOG_LEVELS } from './environment-schema.ts'
import { findMissingPartners, readCertificateFiles, readOidc } from './settings-in-pairs.ts'
import {
  readTracing,
  tracingSchema,
  type TracingSettings,
} from '../operations/tracing/tracing-settings.ts'
import { findUnknownSettings } from './unknown-settings.ts'

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
  readonly deviceTokenMinutes: number
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
  readonly tracing: TracingSettings | null
  /** How long a device's last poll is kept in memory before it is written; 0 forgets it. */
  readonly lastSeenMs: number
  /** How late the event loop may be before machines are asked to wait; 0 asks nobody. */
  readonly overloadDelayMs: number
  readonly hints: {
    /** How long a machine may wait for one; 0 where nobody is told. */
    readonly longestMs: number
    /** Machines that may wait, in total and of one organization. */
    readonly waiting: number
    readonly waitingOfOrg: number
  }
  readonly limits: {
    readonly maxPolicies: number
    readonly maxRules: number
    readonly maxPolicyBytes: number
  }
  readonly quotas: Quotas
  readonly writeRates: WriteRates
  /** How long events are kept; 0 keeps them for ever. */
  readonly historyDays: number
  /** Bound of the events of an organization; 0 for no bound. */
  readonly maxHistoryMib: number
}

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
    ...findMissingPartners(environment),
    ...findUnknownSettings(environment, SETTING_NAMES),
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
    deviceTokenMinutes: settings.PALISADE_DEVICE_TOKEN_MINUTES,
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
    overloadDelayMs: settings.PALISADE_OVERLOAD_DELAY_MS,
    hints: {
      longestMs: settings.PALISADE_HINT_SECONDS * 1000,
      waiting: settings.PALISADE_MAX_HINTS,
      waitingOfOrg: settings.PALISADE_MAX_HINTS_OF_ORG,
    },
    limits: {
      maxPolicies: settings.PALISADE_MAX_POLICIES,
      maxRules: settings.PALISADE_MAX_RULES,
      maxPolicyBytes: settings.PALISADE_MAX_POLICY_BYTES,
    },
    quotas: {
      tokensOfUser: settings.PALISADE_MAX_TOKENS_OF_USER,
      tokensOfOrg: settings.PALISADE_MAX_TOKENS_OF_ORG,
      teams: settings.PALISADE_MAX_TEAMS,
      teamsOfUser: settings.PALISADE_MAX_TEAMS_OF_USER,
      members: settings.PALISADE_MAX_MEMBERS,
      devices: settings.PALISADE_MAX_DEVICES,
      devicesOfUser: settings.PALISADE_MAX_DEVICES_OF_USER,
      ownDevices: settings.PALISADE_MAX_OWN_DEVICES,
      enrolmentTokens: settings.PALISADE_MAX_ENROLMENT_TOKENS,
      webhooks: settings.PALISADE_MAX_WEBHOOKS,
    },
    writeRates: {
      perMinute: settings.PALISADE_MAX_WRITES_PER_MINUTE,
      ownPerHour: settings.PALISADE_MAX_OWN_WRITES_PER_HOUR,
    },
    historyDays: settings.PALISADE_HISTORY_DAYS,
    maxHistoryMib: settings.PALISADE_MAX_HISTORY_MIB,
  }
}

/** `readConfig` for this process; `options` are settings of its command line, which count first. */
export function readProcessConfig(options: Readonly<Record<string, string>> = {}): Config {
  return readConfig({ ...process.env, ...options }, process.cwd())
}

function describeIssues(error: z.ZodError | undefined): string[] {
  return (error?.issues ?? []).map((issue) => `\`${issue.path.join('.')}\` ${issue.message}`)
}
