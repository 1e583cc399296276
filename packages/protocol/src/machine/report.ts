import { z } from 'zod'
import { lineSchema } from '../line.ts'
import { assuranceClassSchema } from './assurance.ts'
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

/** The last self-probe of each enforcement point. */
export const enforcementReportSchema = z.strictObject({ proxy: z.enum(['in_force', 'failed']) })
export type EnforcementReport = z.infer<typeof enforcementReportSchema>

/** SHA-256, in hexadecimal. */
export const policyDigestSchema = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 of 0-9 and a-f')

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
    /** Absent before the first self-probe. */
    enforcement: enforcementReportSchema.exactOptional(),
    /** Absent before the first self-probe, and where the server knows no such member. */
    assurance: assuranceClassSchema.exactOptional(),
    /**
     * Digest of the signed settings and documents in force; absent while there are none. Machines
     * with the same digest enforce the same policies, apart from their local denies.
     */
    policy_digest: policyDigestSchema.exactOptional(),
  })
  .meta({
    id: 'DeviceReport',
    examples: [{ revision: 412, state: 'fresh', agent_version: '0.1.0' }],
  })
export type DeviceReport = z.infer<typeof deviceReportSchema>
