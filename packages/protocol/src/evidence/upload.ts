import {
  canonicalAddress,
  FILESYSTEM_ACTIONS,
  NETWORK_ACTIONS,
  REASONS,
} from '@palisade/policy-core'
import { z } from 'zod'
import { LOSS_REASONS, RECORD_POINTS, RECORD_PROTOCOLS } from '../machine/decision-record.ts'

/** Content type of a batch: a header and lines, each a JSON value and a line feed. */
export const UPLOAD_TYPE = 'application/x-ndjson'
/** Largest body of a batch, compressed by gzip or not. */
export const MAX_UPLOAD_BYTES = 1024 * 1024
/** Largest text of a batch, after decompression. */
export const MAX_UPLOAD_TEXT_BYTES = 4 * 1024 * 1024
export const MAX_UPLOAD_LINES = 5_000
/** Longest line, in characters; longer than a record of canonical names can be. */
export const MAX_UPLOAD_LINE = 64 * 1024
/** Longest name, path or executable, in characters. */
const MAX_TEXT = 4096

const bootSchema = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[\w-]*$/, 'must be letters, digits, `_` and `-`')
const hashSchema = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 of 0-9 and a-f')
const seqSchema = z.int().positive()
const countSchema = z.int().nonnegative()
/** RFC 3339 UTC. */
const instantSchema = z.iso.datetime()
const addressSchema = z
  .string()
  .max(64)
  .refine((text) => canonicalAddress(text) === text, 'must be an IP address in its canonical form')
const textSchema = z.string().max(MAX_TEXT)

/**
 * A position in the chain of a machine's decision records. A machine sends each line's number in
 * its boot and the hash of the line as it is on its disk, and the server follows the chain without
 * the members that stay on the machine.
 */
export const recordPositionSchema = z
  .strictObject({ boot: bootSchema, seq: seqSchema, hash: hashSchema })
  .meta({ id: 'RecordPosition' })
export type RecordPosition = z.infer<typeof recordPositionSchema>

/** `GET /api/v1/device/records`, and the answer to a batch: all lines up to there are durable. */
export const recordReceiptSchema = z
  .strictObject({
    /** Null before the first batch. */
    position: recordPositionSchema.nullable(),
  })
  .meta({ id: 'RecordReceipt' })
export type RecordReceipt = z.infer<typeof recordReceiptSchema>

/** The first line of a batch. All lines are of one boot. */
export const batchHeaderSchema = z.strictObject({
  boot: bootSchema,
  /** `seq` of the first line, as on the machine's disk. */
  first: seqSchema,
  /** `previous` of that line. */
  previous: hashSchema,
})
export type BatchHeader = z.infer<typeof batchHeaderSchema>

export const uploadedRuleSchema = z.strictObject({
  policy_id: z.string().max(512),
  rule_id: z.string().max(512),
  decision: z.enum(['allow', 'deny']),
  origin: z.enum(['org', 'local', 'grant']),
})
export type UploadedRule = z.infer<typeof uploadedRuleSchema>

/** The decision if every shadow policy were enforced, where it differs. */
export const uploadedShadowSchema = z.strictObject({
  decision: z.enum(['allow', 'deny']),
  reason: z.enum(REASONS),
  rules: z.array(uploadedRuleSchema).max(10),
})
export type UploadedShadow = z.infer<typeof uploadedShadowSchema>

const uploadedRequestSchema = z.union([
  z.strictObject({
    action: z.enum(NETWORK_ACTIONS),
    host: textSchema,
    port: z.int().min(1).max(65_535),
    address: addressSchema.exactOptional(),
  }),
  z.strictObject({
    action: z.enum(FILESYSTEM_ACTIONS),
    path: textSchema,
    /** Set for the leading segments of a longer path. */
    path_cut: z.literal(true).exactOptional(),
  }),
])
export type UploadedRequest = z.infer<typeof uploadedRequestSchema>

/** A decision record without the members that the settings keep on the machine. */
export const uploadedRecordSchema = z.strictObject({
  time: instantSchema,
  until: instantSchema.exactOptional(),
  point: z.enum(RECORD_POINTS),
  protocol: z.enum(RECORD_PROTOCOLS),
  sandbox: bootSchema.exactOptional(),
  decision: z.enum(['allow', 'deny']),
  reason: z.enum(REASONS),
  rules: z.array(uploadedRuleSchema).max(10),
  shadow: uploadedShadowSchema.exactOptional(),
  /** Null for a request that cannot be read. */
  request: uploadedRequestSchema.nullable(),
  revision: countSchema.nullable(),
  stale: z.literal(true).exactOptional(),
  break_glass: z.literal(true).exactOptional(),
  count: z.int().positive(),
  program: z.string().max(1024).exactOptional(),
  os_user: z.string().max(256).exactOptional(),
  /** Present for ended connections, which were counted as decisions when they began. */
  flow: z.strictObject({ bytes_sent: countSchema, bytes_received: countSchema }).exactOptional(),
})
export type UploadedRecord = z.infer<typeof uploadedRecordSchema>

const position = { seq: seqSchema, hash: hashSchema }

/** A line after the header. Numbers ascend. */
export const batchLineSchema = z.union([
  z.strictObject({ ...position, record: uploadedRecordSchema }),
  /** Decisions that the machine did not record. */
  z.strictObject({
    ...position,
    time: instantSchema,
    lost: countSchema,
    reason: z.enum(LOSS_REASONS),
  }),
  /** All lines up to `seq` that the settings keep on the machine; decisions in them. */
  z.strictObject({ ...position, left_out: countSchema }),
])
export type BatchLine = z.infer<typeof batchLineSchema>
