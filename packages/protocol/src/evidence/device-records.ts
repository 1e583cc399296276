import { z } from 'zod'
import { timestampSchema } from '../timestamp.ts'
import { recordPositionSchema } from './upload.ts'

const countSchema = z.int().nonnegative()

/**
 * `GET /api/v1/orgs/{org}/devices/{device}/records`: the chain of a device's decision records, as
 * far as the server has followed it.
 */
export const deviceRecordsSchema = z
  .strictObject({
    position: recordPositionSchema
      .nullable()
      .meta({ description: 'Of the last stored line; null before the first upload' }),
    received_at: timestampSchema.nullable(),
    gaps: countSchema.meta({ description: 'How often lines were missing' }),
    forks: countSchema.meta({ description: 'How often two lines had one number' }),
    rewinds: countSchema.meta({ description: 'How often it went on from an earlier line' }),
    marked_at: timestampSchema.nullable().meta({ description: 'Of the last of these' }),
    lost: countSchema.meta({ description: 'Decisions that machine and chain count as lost' }),
    left_out: countSchema.meta({ description: 'Decisions that the settings keep on the machine' }),
    recent_losses: z
      .array(z.strictObject({ reason: z.string(), lost: countSchema, last_at: timestampSchema }))
      .meta({ description: 'Of the last thirty days, by reason' }),
  })
  .meta({ id: 'DeviceRecords' })
export type DeviceRecords = z.infer<typeof deviceRecordsSchema>
