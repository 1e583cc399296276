import { z } from 'zod'
import { decisionSchema, explanationSchema } from './decision.ts'

/**
 * The agent's local API: HTTP/1.1 over a Unix socket (mode 0600), JSON bodies.
 *
 * - `POST /v1/decide`   one request → the decision object, with `addresses` where it was resolved
 * - `POST /v1/explain`  one request → the explanation, likewise
 * - `GET  /v1/status`   → AgentStatus
 * - `POST /v1/sync`     fetches now; → SyncResult when the attempt ended. After thirty without a
 *                       pause, attempts begin once a second, and all who wait share one
 * - `POST /v1/import`   a bundle file (`bundle.ts`) → SyncResult; judged as if it had been fetched
 * - `POST /v1/break-glass`      a grant file (`break-glass.ts`) → BreakGlassResult, once it is
 *   begun or refused
 * - `POST /v1/break-glass/end`  → BreakGlassResult; ends the grant in force
 *
 * Errors use the server's envelope; too many requests that wait are 429 `limit_exceeded` with
 * `Retry-After`. A request that cannot be judged is not an error: it is
 * answered 200 with `deny` and `invalid_request`.
 *
 * A request with the member `resolve: true` is answered as the proxy would: a name that the proxy
 * would resolve is resolved, and every address decided. A name that the proxy would not resolve is
 * not resolved here either.
 */
export const LOCAL_API = {
  decide: '/v1/decide',
  explain: '/v1/explain',
  status: '/v1/status',
  sync: '/v1/sync',
  import: '/v1/import',
  breakGlass: '/v1/break-glass',
  endBreakGlass: '/v1/break-glass/end',
} as const

/**
 * Where a machine stands. ARCHITECTURE says what each of them enforces, and what leads to it.
 *
 * - `never_loaded`: no bundle yet. `corrupt`: what was kept is damaged, or this agent misreads it.
 *   `unsupported`: the bundle needs a newer agent. In these everything is denied.
 * - `fresh`, `stale`: the bundle is in force. `rejected`: so is the last good one, because what the
 *   server has was refused. `revoked`: likewise, the server does not know this machine any more.
 * - `expired`: of what the bundle allows, `offline_allow` and the server itself are left.
 * - `break_glass`: a grant has lifted the expiry. `conflict`: two organizations claim the machine,
 *   so nothing is allowed.
 */
export const AGENT_STATES = [
  'never_loaded',
  'fresh',
  'stale',
  'expired',
  'rejected',
  'conflict',
  'revoked',
  'corrupt',
  'unsupported',
  'break_glass',
] as const
export type AgentState = (typeof AGENT_STATES)[number]

/** An address that a name resolved to, with the decision on it. */
const resolvedAddressSchema = z.object({
  address: z.string(),
  decision: decisionSchema.shape.decision,
  reason: decisionSchema.shape.reason,
})

/**
 * Present when the name was resolved; the decision itself is then that of the first address that is
 * allowed, else of the first. Empty when the name has no address now: the decision is on the name.
 */
const addresses = z.array(resolvedAddressSchema).optional()

/** Deciding rules beside the first hundred, which `rules` lists; absent instead of 0. */
const rules_omitted = z.int().optional()

export const localDecisionSchema = decisionSchema.extend({ addresses, rules_omitted })
export type LocalDecision = z.infer<typeof localDecisionSchema>

export const localExplanationSchema = explanationSchema.extend({
  addresses,
  rules_omitted,
  /**
   * Beside those in `matched`: the first hundred that decided, and the first hundred of the others.
   */
  matched_omitted: z.int().optional(),
})
export type LocalExplanation = z.infer<typeof localExplanationSchema>

const instant = z.string()

/** Why the last attempt to fetch brought nothing into force. */
export const syncErrorSchema = z.object({
  /**
   * Stable, such as `unreachable`, `busy`, `http_status`, `bad_signature`, `older_revision`,
   * `not_compilable`.
   */
  code: z.string(),
  message: z.string(),
})
export type SyncError = z.infer<typeof syncErrorSchema>

/** The break-glass grant in force; times are RFC 3339 UTC in whole seconds. */
export const breakGlassStatusSchema = z.object({
  id: z.string(),
  reason: z.string(),
  issued_by: z.string(),
  begun_at: instant,
  until: instant,
})
export type BreakGlassStatus = z.infer<typeof breakGlassStatusSchema>

export const breakGlassResultSchema = z.object({
  outcome: z.enum(['begun', 'ended', 'failed']),
  /** What is in force then. */
  grant: breakGlassStatusSchema.nullable(),
  /** `code` is stable, such as `already_used`. */
  error: syncErrorSchema.nullable(),
})
export type BreakGlassResult = z.infer<typeof breakGlassResultSchema>

/**
 * While this machine asks the server for a newer timestamp: its clock was ahead, which makes the
 * policies look old.
 */
export const awaitedIssueSchema = z.object({
  reason: z.literal('clock_was_ahead'),
  issued_after: instant,
  /** From then on the server signs one when it is asked; each attempt asks. */
  signed_from: instant,
})
export type AwaitedIssue = z.infer<typeof awaitedIssueSchema>

/** The first five resources, of which there may be more. */
const localRuleSchema = z.object({
  policy_name: z.string(),
  name: z.string(),
  decision: z.enum(['allow', 'deny']),
  actions: z.array(z.string()),
  resources: z.array(z.string()),
  resource_count: z.int(),
})

export const agentStatusSchema = z.object({
  state: z.enum(AGENT_STATES),
  server: z.string(),
  org: z.string(),
  user: z.string().nullable(),
  device_id: z.string(),
  /**
   * The name that the machine gave itself at its enrolment; absent where it gave none. The server
   * may have another one since.
   */
  enrolled_as: z.string().optional(),
  agent_version: z.string(),
  started_at: instant,
  /** The two by which organizations claim this machine; absent but in the state `conflict`. */
  enrolment_files: z.array(z.string()).optional(),
  /** `http://127.0.0.1:PORT` of the proxy. */
  proxy: z.string(),
  bundle: z
    .object({
      revision: z.int(),
      issued_at: instant,
      stale_at: instant,
      expires_at: instant,
      policies: z.int(),
      rules: z.int(),
      /** Where it came from when this agent started using it. */
      source: z.enum(['server', 'cache', 'file']),
    })
    .nullable(),
  /**
   * Rules of this machine's own file, when it has one: denies count, allows do not. `rules` are the
   * first hundred.
   */
  local_rules: z
    .object({ denies: z.int(), allows: z.int(), rules: z.array(localRuleSchema) })
    .optional(),
  break_glass: breakGlassStatusSchema.nullable(),
  sync: z.object({
    last_attempt_at: instant.nullable(),
    /** Last time that the server confirmed or delivered a verified bundle. */
    last_success_at: instant.nullable(),
    /** Since when attempts have failed without a success in between; null while they succeed. */
    failing_since: instant.nullable(),
    last_error: syncErrorSchema.nullable(),
    next_attempt_at: instant.nullable(),
    /** Null while no newer timestamp is needed. */
    awaiting: awaitedIssueSchema.nullable(),
  }),
  /** Whether the server tells this machine of changes between two attempts. */
  hints: z.object({
    /** Whether this machine wants to be told. */
    is_on: z.boolean(),
    /** Since when it was told nothing, not even that there is nothing; null while it is. */
    failing_since: instant.nullable(),
    last_error: syncErrorSchema.nullable(),
  }),
  /**
   * Why what was kept could not be used at start, and the file that was set aside for it, null
   * where it was left; null when all was well.
   */
  cache_problem: z.object({ file: z.string().nullable(), message: z.string() }).nullable(),
  decisions: z.object({ allowed: z.int(), denied: z.int() }),
})
export type AgentStatus = z.infer<typeof agentStatusSchema>

/** The policy that a machine enforces. */
export const inForceSchema = z.object({
  state: z.enum(AGENT_STATES),
  /** Null while everything is denied, whichever policies were verified. */
  revision: z.int().nullable(),
})
export type InForce = z.infer<typeof inForceSchema>

export const syncResultSchema = z.object({
  outcome: z.enum(['updated', 'unchanged', 'failed']),
  /** Of the last verified bundle. */
  revision: z.int().nullable(),
  error: syncErrorSchema.nullable(),
  /** Once the attempt has ended; absent in an earlier version. */
  in_force: inForceSchema.optional(),
  /** Absent while no newer timestamp is needed. */
  awaiting: awaitedIssueSchema.optional(),
})
export type SyncResult = z.infer<typeof syncResultSchema>
