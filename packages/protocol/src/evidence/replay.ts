import { REASONS } from '@palisade/policy-core'
import { z } from 'zod'
import { documentPolicySchema } from '../governance/policy-document.ts'
import { timestampSchema } from '../timestamp.ts'
import { UPLOAD_MODES } from './evidence-settings.ts'

/** Longest time whose records one replay decides. */
export const MAX_REPLAY_DAYS = 366
export const DEFAULT_REPLAY_DAYS = 30
export const DEFAULT_REPLAY_GROUPS = 100
export const MAX_REPLAY_GROUPS = 1_000
/** Deciding rules that a group shows. */
export const MAX_REPLAY_RULES = 5

const INSTANT = 'must be an RFC 3339 instant such as `2026-11-21T08:00:00Z`'
const instantSchema = z.iso.datetime({ offset: true, error: INSTANT })

/** The members of a replay beside those of its draft. */
export const replaySpanSchema = z.strictObject({
  days: z
    .int()
    .min(1, 'must be at least 1')
    .max(MAX_REPLAY_DAYS, `must be at most ${MAX_REPLAY_DAYS}`)
    .optional()
    .meta({ description: `The last days; ${DEFAULT_REPLAY_DAYS} by default. Not with \`from\`` }),
  from: instantSchema.optional().meta({ description: 'Inclusive' }),
  to: instantSchema.optional().meta({ description: 'Exclusive; now by default' }),
  groups: z
    .int()
    .min(1, 'must be at least 1')
    .max(MAX_REPLAY_GROUPS, `must be at most ${MAX_REPLAY_GROUPS}`)
    .optional()
    .meta({ description: `Groups of each list; ${DEFAULT_REPLAY_GROUPS} by default` }),
})
export type ReplaySpan = z.input<typeof replaySpanSchema>

/** `POST /api/v1/orgs/{org}/replay`: a document as `apply` takes it, and a time. */
export const replayRequestSchema = replaySpanSchema
  .extend({
    policies: z.array(documentPolicySchema),
    prune: z.boolean().optional().meta({
      description: 'Delete policies that are not in the document; by default they are kept',
    }),
  })
  .meta({ id: 'ReplayRequest', examples: [{ policies: [], prune: true, days: 30 }] })
export type ReplayRequest = z.input<typeof replayRequestSchema>

const countSchema = z.int().nonnegative()

/** How often, by whom and when requests of a kind were recorded. */
const replayCountSchema = z.object({
  /** Recorded decisions, with repetitions. */
  count: countSchema,
  users: countSchema,
  devices: countSchema,
  first_at: timestampSchema.nullable(),
  last_at: timestampSchema.nullable(),
})

const exampleSchema = z
  .object({
    device_id: z.string(),
    username: z.string().nullable(),
    action: z.string().nullable(),
    /** `host:port`, or a path. */
    target: z.string().nullable(),
    address: z.string().nullable(),
    program: z.string().nullable(),
    recorded_decision: z.enum(['allow', 'deny']),
    recorded_reason: z.string(),
    recorded_revision: z.int().nullable(),
    recorded_at: timestampSchema,
  })
  .meta({ id: 'ReplayExample', description: 'The last record of its kind' })
export type ReplayedExample = z.infer<typeof exampleSchema>

const ruleSchema = z.object({
  policy_id: z.string(),
  policy_name: z.string(),
  rule_id: z.string(),
  rule_name: z.string(),
  decision: z.enum(['allow', 'deny']),
  resource: z.string(),
  origin: z.enum(['org', 'local', 'grant']),
})

const decisionSchema = z.object({
  decision: z.enum(['allow', 'deny']),
  reason: z.enum(REASONS),
  /** The first of them. */
  rules: z.array(ruleSchema).max(MAX_REPLAY_RULES),
})

const groupSchema = replayCountSchema
  .extend({
    action: z.string(),
    target: z.string(),
    before: decisionSchema,
    after: decisionSchema,
    /** Null without `audit:read`. */
    example: exampleSchema.nullable(),
  })
  .meta({ id: 'ReplayGroup', description: 'Records of one target that the same rules decide' })
export type ReplayedGroup = z.infer<typeof groupSchema>

const changeSchema = z
  .object({
    /** Records of all groups. */
    count: countSchema,
    /** The most frequent first. */
    groups: z.array(groupSchema),
    /** Groups that are not listed, such as single devices without `audit:read`; their records. */
    more_groups: countSchema,
    more_count: countSchema,
  })
  .meta({ id: 'ReplayChange' })
export type ReplayedChange = z.infer<typeof changeSchema>

/**
 * Why records cannot be decided anew.
 *
 * - `path_cut`: the record has only the first segments of the path, or none.
 * - `home_unknown`: a rule with `~` could match the path, depending on the home directory.
 * - `invalid_request`: the request cannot be read; it is denied in any case.
 * - `not_a_member`: the user is no member of the organization.
 * - `too_many`: there are more different requests than a replay decides.
 */
export const NOT_JUDGED = [
  'path_cut',
  'home_unknown',
  'invalid_request',
  'not_a_member',
  'too_many',
] as const
export type NotJudgedCause = (typeof NOT_JUDGED)[number]

/**
 * Why a recorded decision differs from that of the policies in force.
 *
 * - `break_glass`, `no_policy`, `policy_expired`, `unsupported_policy`: the state of the machine.
 * - `observed`: the machine allowed a request that no rule matched.
 * - `local_rule`: a rule of the machine's user denied.
 * - `grant`: a grant of access allowed.
 * - `revision`: another revision decided, or a rule has expired since.
 * - `other`: the revision is the same. The teams of the user, the home directory or the addresses
 *   of the machine differ, or an address decided that the record does not have.
 */
export const DRIFT_CAUSES = [
  'break_glass',
  'no_policy',
  'policy_expired',
  'unsupported_policy',
  'observed',
  'local_rule',
  'grant',
  'revision',
  'other',
] as const
export type DriftCause = (typeof DRIFT_CAUSES)[number]

export const replayResultSchema = z
  .object({
    /** Revision of the policies in force. */
    revision: countSchema,
    from: timestampSchema,
    to: timestampSchema,
    /** The setting of the organization at present: which requests machines upload. */
    upload: z.enum(UPLOAD_MODES),
    sample_percent: z.int().nullable(),
    /**
     * From then on every request of the time was to be uploaded: the setting was `full`, and there
     * are records. Removed events, dropped records and those beyond a limit begin it anew. Null
     * when that never was so.
     */
    complete_since: timestampSchema.nullable(),
    /** All records of the time, with those that cannot be judged. */
    recorded: replayCountSchema,
    newly_denied: changeSchema,
    newly_allowed: changeSchema,
    unchanged: replayCountSchema,
    /**
     * Names that were judged without an address. An address may be denied although its name is
     * allowed, and the other way round.
     */
    without_address: replayCountSchema,
    not_judged: z.array(
      replayCountSchema.extend({
        cause: z.enum(NOT_JUDGED),
        example: exampleSchema.nullable(),
      }),
    ),
    /** Records whose decision differs from that of the policies in force. */
    drift: z.array(
      replayCountSchema.extend({ cause: z.enum(DRIFT_CAUSES), example: exampleSchema.nullable() }),
    ),
  })
  .meta({ id: 'ReplayResult' })
export type ReplayResult = z.infer<typeof replayResultSchema>

/** One line of the answer, which is NDJSON: progress, and at the end a result or an error. */
export const replayLineSchema = z
  .union([
    z.object({
      progress: z.object({
        /** Records from here on have been read. */
        read_from: timestampSchema,
        /** Different requests, and those of them that are decided. */
        requests: countSchema,
        decided: countSchema,
      }),
    }),
    z.object({ result: replayResultSchema }),
    z.object({ error: z.object({ code: z.string(), message: z.string() }) }),
  ])
  .meta({ id: 'ReplayLine' })
export type ReplayLine = z.infer<typeof replayLineSchema>
