import { parseInstant } from '@palisade/policy-core'
import { z } from 'zod'

/** Modes of a policy: a `shadow` policy decides nothing. */
export const POLICY_MODES = ['enforce', 'shadow'] as const
export type PolicyMode = (typeof POLICY_MODES)[number]

/** Under `observe` a request that no rule matches is allowed. */
export const DEFAULT_DECISIONS = ['enforce', 'observe'] as const
export type DefaultDecision = (typeof DEFAULT_DECISIONS)[number]

/** Canonical with milliseconds, so that instants compare as text and equal ones are equal. */
export const expiresAtSchema = z
  .string()
  .overwrite((text) => {
    const ms = parseInstant(text)
    return ms === null ? text : new Date(ms).toISOString()
  })
  .refine(
    (text) => parseInstant(text) !== null,
    'must be an RFC 3339 time in UTC such as `2026-12-31T18:00:00Z`',
  )
  .meta({
    format: 'date-time',
    description: 'RFC 3339 UTC; from then on the rule does not match. Absent means always',
  })

export const policyModeSchema = z.enum(POLICY_MODES).meta({
  description: 'A `shadow` policy is not enforced: machines record where it would differ',
})

export const defaultDecisionSchema = z.enum(DEFAULT_DECISIONS).meta({
  description:
    'For a request that no rule matches: `observe` allows and records it. Where the ' +
    'organization and teams of a user differ, `enforce` wins; absent is no choice',
})
