import { z } from 'zod'
import { lineSchema } from '../line.ts'
import { grantInForceSchema } from './break-glass.ts'
import { AGENT_STATES } from './local-api.ts'

export const MAX_REPORT_DETAIL = 512

/** Codes that say nothing about the policies of the server. */
export const CODES_WITHOUT_POLICY = [
  'unreachable',
  'timeout',
  'stopping',
  'busy',
  'http_status',
  'redirected',
  'foreign_answer',
  'not_modified_without_bundle',
  'empty',
  'truncated',
  'unauthorized',
  'proof_refused',
  'cache_not_written',
  'internal',
] as const

export const reportErrorSchema = z.strictObject({
  /** Stable, such as `not_compilable`. */
  code: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be 1 to 64 of a-z, 0-9 and `_`'),
  detail: lineSchema.max(MAX_REPORT_DETAIL),
})

/**
 * `POST /api/v1/device/report`: the revision in force on a machine and its state. Sent at each
 * change and every few hours. The report is unverified, so no decision depends on it.
 */
export const deviceReportSchema = z
  .strictObject({
    /** Revision of the last verified bundle; absent without one. */
    revision: z.int().nonnegative().exactOptional(),
    state: z.enum(AGENT_STATES),
    /**
     * The reason why the last attempt to fetch failed; absent after a success.
     */
    error: reportErrorSchema.optional(),
    /** Present while a break-glass grant is in force. */
    break_glass: grantInForceSchema.exactOptional(),
    agent_version: lineSchema.min(1).max(64),
  })
  .meta({
    id: 'DeviceReport',
    examples: [{ revision: 412, state: 'fresh', agent_version: '0.1.0' }],
  })
export type DeviceReport = z.infer<typeof deviceReportSchema>
