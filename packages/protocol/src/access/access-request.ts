import { z } from 'zod'
import { lineSchema } from '../line.ts'
import { usernameSchema } from '../name.ts'
import { pageQuerySchema, pageSchema } from '../page.ts'
import { timestampSchema } from '../timestamp.ts'
import {
  ACCESS_SECONDS,
  accessActionSchema,
  accessGrantSchema,
  accessRequestIdSchema,
  accessResourcesSchema,
} from './access-grant.ts'

const MAX_REASON = 512

const reasonSchema = lineSchema
  .max(MAX_REASON, `must be at most ${MAX_REASON} characters`)
  .regex(/\S/, 'must say why, such as `build of the release needs it`')

/** Characters of the resources of one request together: their text stays in the history. */
const MAX_RESOURCES_TEXT = 4096

const requestedResourcesSchema = accessResourcesSchema.refine(
  (resources) => resources.join('').length <= MAX_RESOURCES_TEXT,
  `must have at most ${MAX_RESOURCES_TEXT} characters together; ask in several requests`,
)

const durationSchema = z
  .int()
  .min(ACCESS_SECONDS.min, `must be at least ${ACCESS_SECONDS.min}`)
  .max(ACCESS_SECONDS.max, `must be at most ${ACCESS_SECONDS.max}`)

/**
 * Body of `POST /api/v1/orgs/{org}/access-requests`, for the caller, and of
 * `POST /api/v1/device/access-requests`, for the user of the machine.
 */
export const createAccessRequestSchema = z
  .strictObject({
    action: accessActionSchema,
    resources: requestedResourcesSchema,
    duration_seconds: durationSchema,
    once: z.boolean().exactOptional(),
    reason: reasonSchema,
  })
  .meta({
    id: 'CreateAccessRequest',
    examples: [
      {
        action: 'connect:tcp',
        resources: ['registry.example.com:443'],
        duration_seconds: 3600,
        reason: 'build of the release needs it',
      },
    ],
  })
export type CreateAccessRequest = z.infer<typeof createAccessRequestSchema>

/**
 * - `pending`: not answered. A request that is not answered in time is `lapsed`.
 * - `approved`: a grant is in force, or was spent on a machine.
 * - `expired`: its grant has ended by time; `revoked`: a person ended it.
 * - `rejected`, `withdrawn`: ended without a grant, by an approver or by the requester.
 */
export const ACCESS_STATES = [
  'pending',
  'lapsed',
  'approved',
  'expired',
  'revoked',
  'rejected',
  'withdrawn',
] as const
export type AccessState = (typeof ACCESS_STATES)[number]

export const accessRequestSchema = z
  .strictObject({
    id: accessRequestIdSchema,
    username: z.string(),
    /** The asking machine; null for the API. The grant is for all machines of the user. */
    device_id: z.string().nullable(),
    state: z.enum(ACCESS_STATES),
    action: accessActionSchema,
    resources: accessResourcesSchema,
    duration_seconds: durationSchema,
    once: z.boolean(),
    reason: reasonSchema,
    created_at: timestampSchema,
    /** Time of the approval, rejection, revocation or withdrawal; null before. */
    decided_at: timestampSchema.nullable(),
    /** `user:NAME` or `organization:NAME:TOKEN`. */
    decided_by: z.string().nullable(),
    /** The approver's words to the requester. */
    answer: z.string().nullable(),
    /** Null without an approval. It may be narrower and shorter than the request. */
    grant: accessGrantSchema.nullable(),
  })
  .meta({ id: 'AccessRequest' })
export type AccessRequest = z.infer<typeof accessRequestSchema>

/** `GET …/access-requests` of the organization. */
export const listAccessRequestsQuerySchema = pageQuerySchema.extend({
  state: z.enum(ACCESS_STATES).optional(),
  username: usernameSchema.optional(),
})
export type ListAccessRequestsQuery = z.infer<typeof listAccessRequestsQuerySchema>

/** Newest first. */
export const listAccessRequestsResponseSchema = pageSchema(accessRequestSchema).meta({
  id: 'ListAccessRequestsResponse',
})
export type ListAccessRequestsResponse = z.infer<typeof listAccessRequestsResponseSchema>

/** Body of `POST …/access-requests/{id}/approve`. Absent members are as requested. */
export const approveAccessRequestSchema = z
  .strictObject({
    /** Must open no more than the requested ones. */
    resources: requestedResourcesSchema.exactOptional(),
    duration_seconds: durationSchema.exactOptional(),
    /** Only `true` can differ from the request. */
    once: z.literal(true).exactOptional(),
    answer: reasonSchema.exactOptional(),
  })
  .meta({ id: 'ApproveAccessRequest', examples: [{ duration_seconds: 1800 }] })
export type ApproveAccessRequest = z.infer<typeof approveAccessRequestSchema>

/** Body of `POST …/access-requests/{id}/reject` and `…/revoke`. */
export const endAccessRequestSchema = z
  .strictObject({ answer: reasonSchema })
  .meta({ id: 'EndAccessRequest', examples: [{ answer: 'use the mirror instead' }] })
export type EndAccessRequest = z.infer<typeof endAccessRequestSchema>
