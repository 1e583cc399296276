import { FILESYSTEM_ACTIONS, REASONS } from '@palisade/policy-core'
import { z } from 'zod'
import { assuranceClassSchema, assuranceFilterSchema } from '../machine/assurance.ts'
import { timestampSchema } from '../timestamp.ts'
import { uploadedRuleSchema, uploadedShadowSchema } from './upload.ts'

/** Longest period of one query. */
export const MAX_AUDIT_DAYS = 30
export const DEFAULT_AUDIT_PAGE = 25
export const MAX_AUDIT_PAGE = 500

export const AUDIT_DECISIONS = ['AUDIT_DECISION_ALLOW', 'AUDIT_DECISION_DENY'] as const
export type AuditDecision = (typeof AUDIT_DECISIONS)[number]

/**
 * - `network_egress`: a connection or a datagram.
 * - `filesystem_mount`: a file or a directory.
 */
export const AUDIT_ACTION_TYPES = ['network_egress', 'filesystem_mount'] as const
export type AuditActionType = (typeof AUDIT_ACTION_TYPES)[number]

/**
 * - `enforce`: the policy decided.
 * - `warn`: of the vendor; no decision here has it.
 * - `audit`: allowed because no rule denies it, under `default: observe`.
 */
export const ENFORCEMENT_MODES = ['enforce', 'warn', 'audit'] as const
export type EnforcementMode = (typeof ENFORCEMENT_MODES)[number]

const INSTANT = 'must be an RFC 3339 instant such as `2026-11-21T08:00:00Z`'
const instantSchema = z.iso.datetime({ offset: true, error: INSTANT })
const textSchema = z.string().min(1, 'must not be empty').max(4096)

/** `GET /v2/auditlogs/governance/{org}`. All filters must hold. */
export const auditQuerySchema = z.strictObject({
  from: instantSchema.optional().meta({ description: 'Inclusive; a week before `to` by default' }),
  to: instantSchema.optional().meta({ description: 'Exclusive; now by default' }),
  audit_session_id: textSchema
    .optional()
    .meta({ description: 'A sandbox, or a start of an agent' }),
  username: textSchema.optional().meta({ description: 'The user of the device' }),
  decision: z.enum(AUDIT_DECISIONS).optional(),
  shadow: z
    .enum(AUDIT_DECISIONS)
    .optional()
    .meta({ description: 'The decision with the shadow policies, where it differs' }),
  action_type: z.enum(AUDIT_ACTION_TYPES).optional(),
  query: z
    .string()
    .min(3, 'must have at least 3 characters')
    .max(256, 'must have at most 256 characters')
    .optional()
    .meta({ description: 'A part of the target, in any case of letters' }),
  resource_id: textSchema.optional().meta({ description: 'The start of the target' }),
  agent: textSchema.optional().meta({ description: 'The executable of the program' }),
  device_id: textSchema.optional(),
  rule_id: textSchema.optional().meta({ description: 'A rule that decided' }),
  enforcement_mode: z.enum(ENFORCEMENT_MODES).optional(),
  assurance_class: assuranceFilterSchema.optional(),
  page_size: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a non-negative whole number')
    .optional()
    .meta({ type: 'integer', minimum: 0, maximum: MAX_AUDIT_PAGE, default: DEFAULT_AUDIT_PAGE }),
  page_token: z
    .string()
    .min(1, 'must not be empty')
    .optional()
    .meta({ description: 'The `next_page_token` of the page before; absent for the first page' }),
})
export type AuditQuery = z.infer<typeof auditQuerySchema>

export const AUDIT_FORMATS = ['csv', 'jsonl'] as const
export type AuditFormat = (typeof AUDIT_FORMATS)[number]

/** `GET /api/v1/orgs/{org}/audit-log`: all events that the filters match, newest first. */
export const auditDownloadQuerySchema = auditQuerySchema
  .omit({ page_size: true, page_token: true })
  .extend({ format: z.enum(AUDIT_FORMATS).optional().meta({ description: '`jsonl` by default' }) })
export type AuditDownloadQuery = z.infer<typeof auditDownloadQuerySchema>

/** Equal decisions of one device in one minute. */
export const auditEventSchema = z
  .strictObject({
    audit_event_id: z.string(),
    org_id: z.string(),
    event_type: z.literal('evaluation'),
    category: z.literal('AUDIT_CATEGORY_EVALUATION'),
    decision: z.enum(AUDIT_DECISIONS),
    action_type: z.enum(AUDIT_ACTION_TYPES),
    enforcement_mode: z
      .enum(['enforce', 'audit'])
      .meta({ description: '`audit` for a request that was allowed because no rule denies it' }),
    audit_session_id: z.string(),
    /** User of the device when it uploaded; empty for a device without a user. */
    username: z.string(),
    created_at: timestampSchema.meta({ description: 'Of the last decision, by the device' }),
    ingested_at: timestampSchema,
    payload: z.strictObject({
      resource_id: z.string().meta({ description: '`host:port`, or a path; empty if unreadable' }),
      network_egress: z
        .strictObject({
          protocol: z.enum(['tcp', 'udp']),
          host: z.string(),
          port: z.int(),
          address: z.string().optional(),
        })
        .optional(),
      filesystem_mount: z
        .strictObject({
          action: z.enum(FILESYSTEM_ACTIONS),
          path: z.string(),
          /** Set for the leading segments of a longer path. */
          path_cut: z.literal(true).optional(),
        })
        .optional(),
      deny_reason: z.array(z.enum(REASONS)),
    }),
    reason: z.enum(REASONS),
    rules: z.array(uploadedRuleSchema).meta({ description: 'The rules that decided' }),
    shadow: uploadedShadowSchema
      .exactOptional()
      .meta({ description: 'The outcome with the shadow policies, where it differs' }),
    revision: z.int().nullable(),
    device_id: z.string(),
    hostname: z.string().nullable().meta({ description: 'The name of the device' }),
    assurance_class: assuranceClassSchema
      .nullable()
      .meta({ description: 'Of the device, as it last reported' }),
    agent: z.string().nullable().meta({ description: 'The executable of the program' }),
    os_user: z.string().nullable(),
    point: z.string().meta({ description: '`local_api` for a question, which enforced nothing' }),
    first_at: timestampSchema,
    count: z.int().nonnegative().meta({ description: 'Decisions' }),
    connections: z.int().nonnegative().meta({ description: 'Ended connections' }),
    bytes_sent: z.int().nonnegative(),
    bytes_received: z.int().nonnegative(),
  })
  .meta({ id: 'AuditEvent' })
export type AuditEvent = z.infer<typeof auditEventSchema>

/**
 * Newest first. `next_page_token` is empty on the last page. A filter for rare decisions may answer
 * a short page, or an empty one, before the last.
 */
export const auditPageSchema = z
  .strictObject({ events: z.array(auditEventSchema), next_page_token: z.string() })
  .meta({ id: 'AuditPage' })
export type AuditPage = z.infer<typeof auditPageSchema>
