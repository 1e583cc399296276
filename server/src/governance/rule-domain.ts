import { domainOf, type Action, type Domain } from '@palisade/policy-core'
import { createRuleRequestSchema, MAX_RESOURCE_LENGTH } from '@palisade/protocol'
import { z } from 'zod'
import { invalidArgument } from '../platform/api-error.ts'
import { readInput } from '../http/body/read-body.ts'

/** Built once: zod compiles an object schema at its first use, which takes longer than a rule. */
const actionsSchema = z.object({ actions: createRuleRequestSchema.shape.actions })

/** Throws 400 `domain_mismatch` unless all `actions` have one domain, and `domain` if given. */
export function requireDomain(actions: readonly Action[], domain: Domain | null): void {
  const [first] = actions
  if (first === undefined) return
  const expected = domain ?? domainOf(first)
  const stranger = actions.find((action) => domainOf(action) !== expected)
  if (stranger === undefined) return
  const message =
    domain === null
      ? `one rule must not mix \`${first}\` and \`${stranger}\`; create two policies`
      : `action \`${stranger}\` does not fit a policy of the domain \`${domain}\`; ` +
        'write it in a policy of its own'
  throw invalidArgument(message, { field: 'actions', reason: 'domain_mismatch' })
}

/**
 * Parses the body of a request that writes a rule and checks it against the `domain` of its policy.
 * Throws 400; mixed domains are reported before any other fault.
 */
export function readRuleBody<
  S extends z.ZodType<{ readonly actions?: readonly Action[] | undefined }>,
>(schema: S, json: unknown, domain: Domain | null): z.output<S> {
  const cut = cutAfterFault(json)
  const result = schema.safeParse(cut)
  requireDomain((result.success ? result.data.actions : peekActions(json)) ?? [], domain)
  return result.success ? result.data : readInput(schema, cut)
}

/**
 * Drops the resources after the first invalid one. A schema checks all elements before it refuses
 * the first, and a hundred thousand of them take half a second.
 */
export function cutAfterFault(json: unknown): unknown {
  const resources = resourcesOf(json)
  const fault = resources.findIndex(
    (text) => typeof text !== 'string' || text.length > MAX_RESOURCE_LENGTH,
  )
  return fault === -1 ? json : { ...Object(json), resources: resources.slice(0, fault + 1) }
}

function resourcesOf(json: unknown): readonly unknown[] {
  if (typeof json !== 'object' || json === null || !('resources' in json)) return []
  return Array.isArray(json.resources) ? json.resources : []
}

/**
 * Reads the actions of a request body whose other members are unchecked, so that mixed domains are
 * reported before any fault of the resources. Returns null when actions are absent or invalid.
 */
export function peekActions(body: unknown): readonly Action[] | null {
  return actionsSchema.safeParse(body).data?.actions ?? null
}
