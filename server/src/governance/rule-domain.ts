import { domainOf, type Action, type Domain } from '@palisade/policy-core'
import { createRuleRequestSchema } from '@palisade/protocol'
import { z } from 'zod'
import { invalidArgument } from '../http/api-error.ts'
import { readInput } from '../http/read-body.ts'
import type { RuleRecord } from '../store/records.ts'

/** Made once: zod compiles an object schema at its first use, which takes longer than a rule. */
const actionsSchema = z.object({ actions: createRuleRequestSchema.shape.actions })

/** The domain that all rules of a policy share; null while there are none. */
export function ruleDomain(rules: readonly Pick<RuleRecord, 'actions'>[]): Domain | null {
  const action = rules[0]?.actions[0]
  return action === undefined ? null : domainOf(action)
}

/** Throws 400 `domain_mismatch` unless all `actions` are of one domain, and of `domain` if given. */
export function requireDomain(actions: readonly Action[], domain: Domain | null): void {
  const [first] = actions
  if (first === undefined) return
  const expected = domain ?? domainOf(first)
  const stranger = actions.find((action) => domainOf(action) !== expected)
  if (stranger === undefined) return
  const message =
    domain === null
      ? `one rule must not mix \`${first}\` and \`${stranger}\`; make two policies`
      : `action \`${stranger}\` does not fit a policy of the domain \`${domain}\`; write it in a policy of its own`
  throw invalidArgument(message, { field: 'actions', reason: 'domain_mismatch' })
}

/**
 * Judges the body of a request that writes a rule, also against the `domain` of its policy; throws
 * 400. That it mixes domains is said before anything else is.
 */
export function readRuleBody<
  S extends z.ZodType<{ readonly actions?: readonly Action[] | undefined }>,
>(schema: S, json: unknown, domain: Domain | null): z.output<S> {
  const result = schema.safeParse(json)
  requireDomain((result.success ? result.data.actions : peekActions(json)) ?? [], domain)
  return result.success ? result.data : readInput(schema, json)
}

/**
 * The actions of a request body whose other members have not been judged yet, or null when they
 * are absent or at fault themselves: mixing domains is reported before anything about resources.
 */
export function peekActions(body: unknown): readonly Action[] | null {
  return actionsSchema.safeParse(body).data?.actions ?? null
}
