import { z } from 'zod'
import { accessGrantSchema } from './access-grant.ts'

/**
 * - `in_force`: the grant allows.
 * - `not_begun`, `expired`: by the trusted time of the machine.
 * - `spent`: for one use, which a connection of this machine has made.
 * - `revoked`: a person ended it before its time; known since the start of the agent.
 * - `without_effect`: the policies of the machine have expired, or do not count.
 */
export const GRANT_STATES = [
  'in_force',
  'not_begun',
  'expired',
  'spent',
  'revoked',
  'without_effect',
] as const
export type GrantState = (typeof GRANT_STATES)[number]

/** An access grant on a machine. */
export const grantStatusSchema = z.object({
  ...accessGrantSchema.shape,
  state: z.enum(GRANT_STATES),
})
export type GrantStatus = z.infer<typeof grantStatusSchema>
