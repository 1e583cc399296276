import { z } from 'zod'
import { isIssuerUrl } from '../identity/oidc/issuer-url.ts'
import {
  isAddressRange,
  parseTrustedProxies,
  type TrustedProxies,
} from '../http/trusted-proxies.ts'
import { parseDatabaseUrl } from '../store/postgres/database-url.ts'

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const LARGEST = 2 ** 31 - 1
const CLAIM = /^[A-Za-z0-9_.:/-]{1,128}$/
const BEARER_SECRET = /^[A-Za-z0-9._~+/-]{16,512}$/

/** The settings of the server except those of OpenTelemetry, each validated on its own. */
export const environmentSchema = z.object({
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
  PALISADE_DEVICE_TOKEN_MINUTES: wholeNumber(1, 60).default(60),
  PALISADE_OIDC_ISSUER: z
    .string()
    .refine(
      isIssuerUrl,
      'must be an `https://` URL without a query, exactly the `iss` of its tokens; ' +
        '`http://` on loopback only',
    )
    .optional(),
  PALISADE_OIDC_AUDIENCE: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 ASCII characters without spaces')
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
    .regex(BEARER_SECRET, 'must be 16 to 512 characters out of A-Z, a-z, 0-9 and ._~+/-')
    .optional(),
  PALISADE_LAST_SEEN_SECONDS: wholeNumber(0, 3600).default(60),
  PALISADE_OVERLOAD_DELAY_MS: wholeNumber(0, 60_000).default(250),
  PALISADE_HINT_SECONDS: wholeNumber(0, 50).default(50),
  PALISADE_MAX_HINTS: wholeNumber(1, 1_000_000).default(20_000),
  PALISADE_MAX_HINTS_OF_ORG: wholeNumber(1, 1_000_000).default(10_000),
  PALISADE_MAX_POLICIES: wholeNumber(1, LARGEST).default(100),
  PALISADE_MAX_RULES: wholeNumber(1, LARGEST).default(250),
  PALISADE_MAX_POLICY_BYTES: wholeNumber(1, LARGEST).default(409_600),
  PALISADE_MAX_TOKENS_OF_USER: wholeNumber(1, LARGEST).default(1000),
  PALISADE_MAX_TOKENS_OF_ORG: wholeNumber(1, LARGEST).default(10_000),
  PALISADE_MAX_TEAMS: wholeNumber(1, LARGEST).default(5000),
  PALISADE_MAX_TEAMS_OF_USER: wholeNumber(1, LARGEST).default(200),
  PALISADE_MAX_MEMBERS: wholeNumber(1, LARGEST).default(100_000),
  PALISADE_MAX_DEVICES: wholeNumber(1, LARGEST).default(500_000),
  PALISADE_MAX_DEVICES_OF_USER: wholeNumber(1, LARGEST).default(200),
  PALISADE_MAX_OWN_DEVICES: wholeNumber(1, LARGEST).default(20),
  PALISADE_MAX_ENROLMENT_TOKENS: wholeNumber(1, LARGEST).default(10_000),
  PALISADE_MAX_WEBHOOKS: wholeNumber(1, LARGEST).default(20),
  PALISADE_MAX_WRITES_PER_MINUTE: wholeNumber(1, LARGEST).default(30_000),
  PALISADE_MAX_OWN_WRITES_PER_HOUR: wholeNumber(1, LARGEST).default(600),
  PALISADE_HISTORY_DAYS: wholeNumber(0, 36_500).default(0),
  PALISADE_MAX_HISTORY_MIB: wholeNumber(0, 1024 * 1024).default(4096),
  PALISADE_EVIDENCE_DAYS: wholeNumber(0, 36_500).default(90),
  PALISADE_MAX_EVIDENCE_MIB: wholeNumber(0, 1024 * 1024 * 1024).default(8192),
  PALISADE_MAX_EVIDENCE_MIB_OF_DEVICE: wholeNumber(0, 1024 * 1024).default(32),
  PALISADE_DATABASE_CONNECTIONS: wholeNumber(1, 1000).default(10),
  DATABASE_URL: z.string().superRefine(checkDatabaseUrl).default(''),
})

/** Tells whether the text is exactly `http(s)://host[:port]`. */
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

function readNetworks(text: string, context: z.RefinementCtx): readonly string[] {
  const networks = text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]))
  if (networks.every(isAddressRange)) return networks
  const message =
    'must be addresses and ranges separated by commas, such as `10.1.2.0/24,192.168.7.9`'
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

function readTrustedProxies(text: string, context: z.RefinementCtx): TrustedProxies {
  const trusted = parseTrustedProxies(text)
  if (trusted !== null) return trusted
  context.addIssue(
    'must be off, a number of proxies from 1 to 9, ' +
      'or addresses and ranges such as `10.0.0.0/8, ::1`',
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
