import { z } from 'zod'
import { ORGANIZATION_NAME, USERNAME } from '../name.ts'
import { pageSizeSchema } from '../query-number.ts'
import { timestampSchema } from '../timestamp.ts'

/** All kinds of events of an organization. Entries are never removed. */
export const EVENT_KINDS = [
  'organization.created',
  'organization.updated',
  'organization.restored',
  'user.created',
  'user.password_changed',
  'user.sessions_ended',
  'user.signed_in',
  'user.sign_in_failed',
  'member.added',
  'member.role_changed',
  'member.removed',
  'invitation.created',
  'invitation.ended',
  'team.created',
  'team.updated',
  'team.deleted',
  'team.member_added',
  'team.member_removed',
  'team.approver_added',
  'team.approver_removed',
  'policy.created',
  'policy.updated',
  'policy.rules_reordered',
  'policy.deleted',
  'rule.created',
  'rule.updated',
  'rule.deleted',
  'access_token.created',
  'access_token.revoked',
  'enrolment_token.created',
  'enrolment_token.revoked',
  'device.enrolled',
  'device.labelled',
  'device.renamed',
  'device.revoked',
  'device.records_marked',
  'device.probe_failed',
  'device.probe_passed',
  'audit_log.read',
  'evidence.dropped',
  'break_glass.issued',
  'access.requested',
  'access.approved',
  'access.rejected',
  'access.revoked',
  'access.withdrawn',
  'access.expired',
  'access.lapsed',
  'rollout.started',
  'rollout.advanced',
  'rollout.paused',
  'rollout.resumed',
  'rollout.finished',
  'rollout.rolled_back',
  'signing_key.created',
  'signing_key.retired',
  'distribution_key.replaced',
  'distribution_key.moved_off',
  'webhook.created',
  'webhook.updated',
  'webhook.secret_rotated',
  'webhook.deleted',
  'history.pruned',
] as const
export type EventKind = (typeof EVENT_KINDS)[number]

const INSTANT = 'must be an RFC 3339 instant such as `2026-11-21T08:00:00Z`'

/** Every form of `actor` in an event. The filter refuses other values. */
const ACTOR = new RegExp(
  `^(?:operator|server|user:${USERNAME}|` +
    `(?:organization|enrolment|rollout):${ORGANIZATION_NAME}:[\\w-]+|issuer:\\S+)$`,
)

const hashSchema = z.string().meta({ description: 'SHA-256 as 64 lower-case hexadecimal digits' })
const stateSchema = z.record(z.string(), z.unknown()).nullable()

/**
 * One change of an organization. `hash` is the SHA-256 of the text `palisade event 1`, a line
 * feed, and the event without `hash` in the form of RFC 8785, so that a reader of the feed can
 * check every event and, by `previous_hash`, that none was left out.
 */
export const eventSchema = z
  .strictObject({
    org: z.string(),
    /** Counts the events of the organization from 1, without gaps. */
    sequence: z.int().positive(),
    at: timestampSchema.meta({ description: 'RFC 3339 UTC with milliseconds' }),
    kind: z.string().meta({ description: 'Such as `policy.created`; more may be added' }),
    actor: z.string().meta({
      description:
        '`user:NAME`, `organization:NAME:TOKEN_ID`, `issuer:URL` for teams by an OIDC claim, ' +
        '`enrolment:NAME:TOKEN_ID` for a machine that enrolled itself, ' +
        '`rollout:NAME:ID` for a rollout that advances or pauses by itself, ' +
        '`server` for the server itself, or `operator` for a command',
    }),
    address: z.string().nullable().meta({ description: 'Address of the client' }),
    request_id: z.string().nullable(),
    subject: z.strictObject({
      id: z.string(),
      name: z.string().nullable(),
      /** The policy that holds the rule, if the subject is one. */
      policy_id: z.string().optional(),
    }),
    before: stateSchema.meta({ description: 'Null when it did not exist before' }),
    after: stateSchema.meta({ description: 'Null when it no longer exists' }),
    /** Revision of the organization after the transaction of the change. */
    revision: z.int().nonnegative(),
    previous_hash: hashSchema,
    hash: hashSchema,
  })
  .meta({ id: 'Event' })
export type HistoryEvent = z.infer<typeof eventSchema>

/** `GET /api/v1/orgs/{org}/events`. `page_size`: absent, 0 or more than 100 means 100. */
export const listEventsQuerySchema = z.strictObject({
  page_size: pageSizeSchema.optional(),
  cursor: z
    .string()
    .min(1)
    .optional()
    .meta({
      description:
        'The `next_cursor` of an earlier answer; absent means the first event. ' +
        'Rejected when a restore has undone the event before it; ' +
        '410 with reason `history_removed` when later events were removed by age',
    }),
  kind: z.enum(EVENT_KINDS).optional(),
  actor: z
    .string()
    .regex(
      ACTOR,
      'must be `user:NAME`, `organization:NAME:TOKEN_ID`, `enrolment:NAME:TOKEN_ID`, ' +
        '`rollout:NAME:ID`, `issuer:URL`, `server` or `operator`',
    )
    .optional(),
  since: z.iso.datetime({ offset: true, error: INSTANT }).optional(),
  until: z.iso.datetime({ offset: true, error: INSTANT }).optional(),
})
export type ListEventsQuery = z.infer<typeof listEventsQuerySchema>

/**
 * Events by ascending sequence. A page may be short, or empty when a filter skips many events,
 * while more events follow; `has_more` tells. `next_cursor` continues after the page at any later
 * time.
 */
export const listEventsResponseSchema = z
  .strictObject({
    data: z.array(eventSchema),
    next_cursor: z.string(),
    has_more: z.boolean(),
    removed_through: z.int().positive().optional().meta({
      description: 'The last event that the history retention removed; absent while all are kept',
    }),
  })
  .meta({ id: 'ListEventsResponse' })
export type ListEventsResponse = z.infer<typeof listEventsResponseSchema>
