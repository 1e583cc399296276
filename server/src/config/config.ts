import { resolve } from 'node:path'
import type { z } from 'zod'
import type { Quotas } from '../identity/limits/quotas.ts'
import type { WriteRates } from '../identity/limits/write-limits.ts'
import type { OidcSettings } from '../identity/oidc/external-token.ts'
import type { TrustedProxies } from '../http/trusted-proxies.ts'
import type { CertificateFiles } from '../operations/tls/certificate.ts'
import { ConfigError } from '../platform/config-error.ts'
import { environmentSchema, type LOG_LEVELS } from './environment-schema.ts'
import { findMissingSettings, readCertificateFiles, readOidc } from './dependent-settings.ts'
import {
  readTracing,
  tracingSchema,
  type TracingSettings,
} from '../operations/tracing/tracing-settings.ts'
import {
  exportSchema,
  readExport,
  type ExportSettings,
} from '../evidence/export/export-settings.ts'
import type { EvidenceLimits } from '../evidence/store/evidence-limits.ts'
import { findUnknownSettings } from './unknown-settings.ts'

/** Settings of the server, read once from the environment. */
export interface Config {
  readonly host: string
  /** 0 means any free port. */
  readonly port: number
  /** Absolute path. */
  readonly dataDir: string
  /** URL of PostgreSQL, including its password; null for SQLite in `dataDir`. */
  readonly databaseUrl: string | null
  /** Connections for reads; each server has two more. */
  readonly databaseConnections: number
  /** Null for plain HTTP. */
  readonly tls: CertificateFiles | null
  /** Origin under which clients reach the server; null to use host and port. */
  readonly publicUrl: string | null
  readonly accessTokenMinutes: number
  readonly deviceTokenMinutes: number
  /** The external issuer of accepted access tokens; null without one. */
  readonly oidc: OidcSettings | null
  readonly logLevel: (typeof LOG_LEVELS)[number]
  readonly trustedProxies: TrustedProxies
  /** Addresses and ranges that webhooks may be delivered to besides the public internet. */
  readonly webhookNetworks: readonly string[]
  /** Time between the stop signal, when the server reports itself not ready, and its shutdown. */
  readonly stopDelayMs: number
  readonly metrics: {
    /** Whether `/metrics` exists. */
    readonly enabled: boolean
    /** Required bearer token; null when callers need no token. */
    readonly token: string | null
  }
  /** Null when traces are neither recorded nor exported. */
  readonly tracing: TracingSettings | null
  /** Delay before a device's last poll is written to the store; 0 never writes it. */
  readonly lastSeenMs: number
  /** Event loop delay from which machines are asked to wait; 0 never asks. */
  readonly overloadDelayMs: number
  readonly hints: {
    /** Longest wait of a machine for a hint; 0 disables hints. */
    readonly longestMs: number
    /** Waiting machines, in total and of one organization. */
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
  /** Retention of events; 0 keeps them forever. */
  readonly historyDays: number
  /** Size limit of the events of one organization; 0 means no limit. */
  readonly maxHistoryMib: number
  /** Retention of machines' decision records; 0 keeps them forever. */
  readonly evidenceDays: number
  readonly evidenceLimits: EvidenceLimits
  /** Where machines' decision records are exported to; `caFile` is an absolute path. */
  readonly exports: ExportSettings
}

/** The names of all settings. */
export const SETTING_NAMES: readonly string[] = Object.keys({
  ...environmentSchema.shape,
  ...exportSchema.shape,
  ...tracingSchema.shape,
})

/** Parses the environment. Throws ConfigError with all problems, without echoing values. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Config {
  const result = environmentSchema.safeParse(environment)
  const tracing = tracingSchema.safeParse(environment)
  const exported = exportSchema.safeParse(environment)
  const problems = [
    ...describeIssues(result.error),
    ...describeIssues(tracing.error),
    ...describeIssues(exported.error),
    ...findMissingSettings(environment),
    ...findUnknownSettings(environment, SETTING_NAMES),
  ]
  if (!result.success || !tracing.success || !exported.success || problems.length > 0)
    throw new ConfigError(problems)
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
    evidenceDays: settings.PALISADE_EVIDENCE_DAYS,
    evidenceLimits: {
      ofOrganization: bytesOf(settings.PALISADE_MAX_EVIDENCE_MIB),
      ofDeviceADay: bytesOf(settings.PALISADE_MAX_EVIDENCE_MIB_OF_DEVICE),
    },
    exports: readExport(exported.data, cwd),
  }
}

/** 0 means no limit. */
function bytesOf(mib: number): number {
  return mib === 0 ? Infinity : mib * 1024 * 1024
}

/** Applies `readConfig` to this process; `options` from its command line take precedence. */
export function readProcessConfig(options: Readonly<Record<string, string>> = {}): Config {
  return readConfig({ ...process.env, ...options }, process.cwd())
}

function describeIssues(error: z.ZodError | undefined): string[] {
  return (error?.issues ?? []).map((issue) => `\`${issue.path.join('.')}\` ${issue.message}`)
}
