import { z } from 'zod'
import { grantStatusSchema } from '../access/grant-status.ts'
import { UPLOAD_MODES } from '../evidence/evidence-settings.ts'
import { assuranceSchema } from './assurance.ts'
import { DECIDE_PATH } from './decide-path.ts'
import { LOSS_REASONS } from './decision-record.ts'
import { SANDBOXES_PATH } from './sandbox-path.ts'
import { decisionSchema, explanationSchema } from './decision.ts'
import { probeResultSchema } from './self-probe.ts'

/**
 * The agent's local API: HTTP/1.1 over a Unix socket (mode 0600), JSON bodies. Where an agent
 * serves all users, the mode is 0666, the kernel tells who calls, and other users than that of the
 * agent get 403 `permission_denied` for all paths but decide, explain, status, policies and
 * sandboxes.
 *
 * - `POST /v1/decide`   one request → the decision object, with `addresses` where it was resolved
 *                       With the media type `application/x-ndjson`, a batch: at most a thousand
 *                       requests, one a line → as many decision objects, line N for line N
 * - `POST /v1/explain`  one request → the explanation, likewise
 * - `GET  /v1/status`   → AgentStatus; `upload` for the user of the agent alone
 * - `GET  /v1/policies` → NDJSON, the rules of this machine (`policy-listing.ts`)
 * - `POST /v1/sync`     fetches now → SyncResult at the end of the attempt. After thirty without a
 *                       pause, attempts begin once a second, and all waiting callers share one
 * - `POST /v1/import`   a bundle file (`bundle.ts`) → SyncResult; verified like a fetched one
 * - `POST /v1/local-rules`        adds a deny of the user (`local-rules.ts`) → LocalRulesResult
 * - `POST /v1/local-rules/remove` → LocalRulesResult, once the change is in force and on disk
 * - `POST /v1/break-glass`      a grant file (`break-glass.ts`) → BreakGlassResult, once the grant
 *   has started or is refused
 * - `POST /v1/break-glass/end`  → BreakGlassResult; ends the grant in force
 * - `POST /v1/access-requests`  a `CreateAccessRequest` → LocalAccessResult, once the server has it
 * - `GET  /v1/access-requests/list` → LocalAccessList (`access/local-access.ts`)
 * - `POST /v1/sandboxes` a `SandboxRequest` (`sandbox.ts`) → SandboxResult: makes a sandbox for the
 *   command of the caller, who becomes the program that it names
 * - `GET  /v1/sandboxes/limits` → LimitMechanisms: how this machine bounds sandboxes
 * - `GET  /v1/staged`   → StagedList (`staged.ts`), the changes of strict sandboxes
 * - `POST /v1/staged/show` a `StagedRequest` → StagedResult with a verdict for each change
 * - `POST /v1/staged/apply`   → StagedResult, once the changes that policy grants are copied out
 * - `POST /v1/staged/discard` → StagedResult
 * - `GET  /v1/log`      → the newest decision records, the oldest first, as NDJSON of `RecordLine`.
 *   `limit=N` for other than the newest 1,000 (1 to 10,000; at most 8 MiB), `denied=1` for denials
 *   only, `questions=0` without the questions to this API, `follow=1` to go on with each record as
 *   it is written. A caller that reads too slowly is disconnected
 * - `GET  /v1/log/verification` → LogVerification
 *
 * Programs in a sandbox ask over TCP at `SANDBOX_AGENT`: `decide`, `explain`, `status`, `policies`,
 * `access-requests` and the part of `log` with the records of their sandbox. Any other path is
 * answered with 403.
 * Decisions there are those for a program of the sandbox.
 *
 * Errors use the server's envelope. Too many waiting requests give 429 `limit_exceeded` with
 * `Retry-After`. An invalid request is not an error: the answer is 200 with `deny` and
 * `invalid_request`.
 *
 * A request with the member `resolve: true` is decided like a request to the proxy: a name that the
 * proxy would resolve is resolved, and every address is decided. Other names are not resolved.
 *
 * A batch never resolves: its answers begin at once, and its names would be as many queries. In a
 * batch `resolve` has no effect, and a decision that an address could change has
 * `address_required`. A line that is blank, longer than 64 KiB or not a JSON object is answered
 * `deny`, `invalid_request`. More than a thousand lines are refused with 400, and more than 4 MiB
 * with 413.
 */
export const LOCAL_API = {
  decide: DECIDE_PATH,
  explain: '/v1/explain',
  status: '/v1/status',
  policies: '/v1/policies',
  sync: '/v1/sync',
  import: '/v1/import',
  addLocalDeny: '/v1/local-rules',
  removeLocalDenies: '/v1/local-rules/remove',
  requestAccess: '/v1/access-requests',
  accessRequests: '/v1/access-requests/list',
  breakGlass: '/v1/break-glass',
  endBreakGlass: '/v1/break-glass/end',
  log: '/v1/log',
  logVerification: '/v1/log/verification',
  sandboxes: SANDBOXES_PATH,
  sandboxLimits: `${SANDBOXES_PATH}/limits`,
  staged: '/v1/staged',
  showStaged: '/v1/staged/show',
  applyStaged: '/v1/staged/apply',
  discardStaged: '/v1/staged/discard',
} as const

/**
 * State of a machine. `docs/agent-states.md` has the enforcement and the causes of each.
 *
 * - `never_loaded`: no bundle yet. `corrupt`: the kept bundle is damaged, or this agent misreads
 *   it.
 *   `unsupported`: the bundle needs a newer agent. In these states every request is denied.
 * - `fresh`, `stale`: the bundle is in force. `rejected`: the server's bundle was refused, and the
 *   last good one is in force. `revoked`: the device is revoked, and the last good one is in force.
 * - `expired`: only `offline_allow` and the server stay reachable, as far as the bundle allows.
 * - `break_glass`: a grant lifts the expiry. `conflict`: two organizations claim the machine, so
 *   every request is denied.
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
 * Present when the name was resolved. The decision is then on the first allowed address, or else on
 * the first address. Empty when the name has no address: the decision is then on the name.
 */
const addresses = z.array(resolvedAddressSchema).optional()

/** Number of deciding rules beyond the first hundred, which `rules` lists; absent instead of 0. */
const rules_omitted = z.int().optional()

export const localDecisionSchema = decisionSchema.extend({ addresses, rules_omitted })
export type LocalDecision = z.infer<typeof localDecisionSchema>

export const localExplanationSchema = explanationSchema.extend({
  addresses,
  rules_omitted,
  /**
   * Number of rules beyond those in `matched`, which lists the first hundred deciding rules and the
   * first hundred others.
   */
  matched_omitted: z.int().optional(),
})
export type LocalExplanation = z.infer<typeof localExplanationSchema>

const instant = z.string()

/** The reason why the last attempt to fetch failed. */
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
  /** The grant in force after the request. */
  grant: breakGlassStatusSchema.nullable(),
  /** `code` is stable, such as `already_used`. */
  error: syncErrorSchema.nullable(),
})
export type BreakGlassResult = z.infer<typeof breakGlassResultSchema>

/**
 * Present while the machine asks the server for a newer timestamp, because its clock was ahead and
 * the policies look old.
 */
export const awaitedIssueSchema = z.object({
  reason: z.literal('clock_was_ahead'),
  issued_after: instant,
  /** Time from which the server signs one on request. Each attempt requests it. */
  signed_from: instant,
})
export type AwaitedIssue = z.infer<typeof awaitedIssueSchema>

/** A local rule with at most its first five resources. */
const localRuleSchema = z.object({
  policy_name: z.string(),
  name: z.string(),
  decision: z.enum(['allow', 'deny']),
  actions: z.array(z.string()),
  resources: z.array(z.string()),
  resource_count: z.int(),
})

/** Upload of the decision records. Optional, so that clients also accept its absence. */
export const uploadStatusSchema = z.object({
  /** Mode by the signed settings of the bundle in force; `off` without one. */
  mode: z.enum(UPLOAD_MODES),
  /** The last line that the server has confirmed, with the time; null before the first. */
  acknowledged: z.object({ at: instant, boot: z.string(), seq: z.int() }).nullable(),
  /** Lines on disk that the server has not confirmed; null while unknown. */
  waiting: z.int().nullable(),
  /** Null after a success. */
  last_error: syncErrorSchema.extend({ at: instant }).nullable(),
})
export type UploadStatus = z.infer<typeof uploadStatusSchema>

export const agentStatusSchema = z.object({
  state: z.enum(AGENT_STATES),
  server: z.string(),
  org: z.string(),
  user: z.string().nullable(),
  device_id: z.string(),
  /**
   * The name that the machine sent at enrolment, if any. The server may have a later name.
   */
  enrolled_as: z.string().optional(),
  agent_version: z.string(),
  /** `all` where the agent serves every user of the machine. Absent means `own`. */
  users: z.enum(['own', 'all']).optional(),
  started_at: instant,
  /** The two conflicting enrolment files; present only in the state `conflict`. */
  enrolment_files: z.array(z.string()).optional(),
  /** `http://127.0.0.1:PORT` of the proxy. */
  proxy: z.string(),
  /** Present where allowed connections go through a proxy of the network. */
  parent_proxy: z
    .object({
      /** `http(s)://host:port`, without credentials. */
      url: z.string(),
      /** Whether it resolves names. Rules on addresses then do not apply to names. */
      resolves: z.boolean(),
      /** The failure of the last connection through it; null after a success. */
      last_error: syncErrorSchema.extend({ at: instant }).nullable(),
    })
    .optional(),
  /**
   * The last self-test of each enforcement point; null before its first. Optional, so that clients
   * also accept its absence.
   */
  probes: z
    .object({
      proxy: probeResultSchema.nullable(),
      sandbox: probeResultSchema.nullable().optional(),
      strict: probeResultSchema.nullable().optional(),
    })
    .optional(),
  /** Computed when it is read. Optional, so that clients also accept its absence. */
  assurance: assuranceSchema.optional(),
  bundle: z
    .object({
      revision: z.int(),
      issued_at: instant,
      stale_at: instant,
      expires_at: instant,
      policies: z.int(),
      rules: z.int(),
      /** Present when requests that no rule matches are allowed. */
      default: z.literal('observe').optional(),
      /** Number of policies that decide nothing; absent without any. */
      shadow_policies: z.int().positive().optional(),
      /** When the next rule expires; absent when none will. */
      next_expiry_at: instant.optional(),
      /** Source of the bundle when this agent began to use it. */
      source: z.enum(['server', 'cache', 'file']),
    })
    .nullable(),
  /**
   * Rules of the machine's own file, if any. Its denies are in force, its allows are not. `rules`
   * lists the first hundred.
   */
  local_rules: z
    .object({ denies: z.int(), allows: z.int(), rules: z.array(localRuleSchema) })
    .optional(),
  break_glass: breakGlassStatusSchema.nullable(),
  /** Access grants of the user, and those that were revoked lately; absent without any. */
  grants: z.array(grantStatusSchema).optional(),
  /** Access grants without effect, because this agent cannot read them; absent for 0. */
  unreadable_grants: z.int().positive().optional(),
  sync: z.object({
    last_attempt_at: instant.nullable(),
    /** Time when the server last confirmed or delivered a verified bundle. */
    last_success_at: instant.nullable(),
    /** Start of the current series of failed attempts; null after a success. */
    failing_since: instant.nullable(),
    last_error: syncErrorSchema.nullable(),
    next_attempt_at: instant.nullable(),
    /** Null while no newer timestamp is needed. */
    awaiting: awaitedIssueSchema.nullable(),
  }),
  /** Hints of the server about changes between two attempts. */
  hints: z.object({
    /** Whether hints are enabled on this machine. */
    is_on: z.boolean(),
    /** Time since which requests for hints fail; null while they are answered. */
    failing_since: instant.nullable(),
    last_error: syncErrorSchema.nullable(),
  }),
  /**
   * The problem with the kept bundle at start, with the file that was set aside (null if it was
   * left in place). Null without a problem.
   */
  cache_problem: z.object({ file: z.string().nullable(), message: z.string() }).nullable(),
  /** Decisions of enforcement points since the start, without questions here and probes. */
  decisions: z.object({ allowed: z.int(), denied: z.int() }),
  /** Decision records since the start. Optional, so that clients also accept its absence. */
  records: z
    .object({
      /** Decisions and ended connections that are on disk. */
      written: z.int(),
      lost: z.int(),
      /** Size of all files, of earlier starts too; 0 before the first record of this one. */
      bytes: z.int(),
      /** Code of the last failure to write, such as `ENOSPC`; null after a success. */
      error: z.string().nullable(),
      /**
       * Last loss of this start; null without one. Optional, so that clients also accept its
       * absence.
       */
      last_loss: z
        .object({ at: instant, reason: z.enum(LOSS_REASONS) })
        .nullable()
        .optional(),
    })
    .optional(),
  upload: uploadStatusSchema.optional(),
  /** The organization's text after each denial by its policies; absent for no text. */
  support_message: z.string().optional(),
})
export type AgentStatus = z.infer<typeof agentStatusSchema>

/** The policy that a machine enforces. */
export const inForceSchema = z.object({
  state: z.enum(AGENT_STATES),
  /** Null while every request is denied, even if policies were verified. */
  revision: z.int().nullable(),
})
export type InForce = z.infer<typeof inForceSchema>

export const syncResultSchema = z.object({
  outcome: z.enum(['updated', 'unchanged', 'failed']),
  /** Revision of the last verified bundle. */
  revision: z.int().nullable(),
  error: syncErrorSchema.nullable(),
  /** The policy in force after the attempt. Optional, so that clients also accept its absence. */
  in_force: inForceSchema.optional(),
  /** Absent while no newer timestamp is needed. */
  awaiting: awaitedIssueSchema.optional(),
})
export type SyncResult = z.infer<typeof syncResultSchema>
