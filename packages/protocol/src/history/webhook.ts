import { z } from 'zod'
import { pageQuerySchema, pageSchema } from '../page.ts'
import { timestampSchema } from '../timestamp.ts'

const MAX_URL_LENGTH = 2048

/** The server validates URLs further: its operator decides which addresses are permitted. */
const urlSchema = z
  .string()
  .max(MAX_URL_LENGTH, `must be at most ${MAX_URL_LENGTH} characters`)
  .regex(/^https?:\/\//, 'must be a URL such as `https://example.com/hook`')

/** `POST /api/v1/orgs/{org}/webhooks` */
export const createWebhookRequestSchema = z.strictObject({ url: urlSchema }).meta({
  id: 'CreateWebhookRequest',
  examples: [{ url: 'https://hooks.example.com/palisade' }],
})
export type CreateWebhookRequest = z.infer<typeof createWebhookRequestSchema>

/** Events of a disabled webhook wait and are delivered once it is enabled. */
export const updateWebhookRequestSchema = z
  .strictObject({ url: urlSchema.optional(), enabled: z.boolean().optional() })
  .refine((body) => Object.keys(body).length > 0, 'at least one member must be present')
  .meta({ id: 'UpdateWebhookRequest', minProperties: 1, examples: [{ enabled: false }] })
export type UpdateWebhookRequest = z.infer<typeof updateWebhookRequestSchema>

export const webhookSchema = z
  .strictObject({
    id: z.string(),
    url: z.string(),
    enabled: z.boolean(),
    created_at: timestampSchema,
    secret_created_at: timestampSchema,
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof webhookSchema>

/** `secret` signs deliveries (Standard Webhooks, `whsec_…`) and is shown only once. */
export const webhookWithSecretSchema = webhookSchema
  .extend({ secret: z.string() })
  .meta({ id: 'WebhookWithSecret' })
export type WebhookWithSecret = z.infer<typeof webhookWithSecretSchema>

/** Webhooks by creation. */
export const listWebhooksResponseSchema = pageSchema(webhookSchema).meta({
  id: 'ListWebhooksResponse',
})
export type ListWebhooksResponse = z.infer<typeof listWebhooksResponseSchema>

export const DELIVERY_STATES = ['pending', 'retrying', 'delivered', 'dead'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Delivery of one event to one webhook. */
export const deliverySchema = z
  .strictObject({
    /** The `webhook-id` that the receiver gets, equal for every attempt. */
    id: z.string(),
    /** Sequence number of the event. */
    sequence: z.int().positive(),
    state: z.enum(DELIVERY_STATES).meta({
      description:
        '`pending`: redelivery requested; `retrying`: blocks later events; `dead`: given up',
    }),
    attempts: z.int().nonnegative(),
    /** HTTP status of the last answer; null without an answer. */
    status: z.int().nullable(),
    /** Reason why the last attempt failed, such as `timeout`; null after a success. */
    error: z.string().nullable(),
    attempted_at: timestampSchema.nullable(),
    next_attempt_at: timestampSchema.nullable(),
  })
  .meta({ id: 'Delivery' })
export type Delivery = z.infer<typeof deliverySchema>

/** `GET …/deliveries`: the newest first. */
export const listDeliveriesQuerySchema = pageQuerySchema.extend({
  state: z.enum(DELIVERY_STATES).optional(),
})
export type ListDeliveriesQuery = z.infer<typeof listDeliveriesQuerySchema>
export const listDeliveriesResponseSchema = pageSchema(deliverySchema).meta({
  id: 'ListDeliveriesResponse',
})
export type ListDeliveriesResponse = z.infer<typeof listDeliveriesResponseSchema>
