import type { Action, Domain } from '@palisade/policy-core'
import type { z } from 'zod'
import { authorize } from '../identity/authorize.ts'
import { payerOf } from '../identity/payer.ts'
import { ApiError } from '../platform/api-error.ts'
import { readJson, readLargeJson, refusalOf } from '../http/body/read-body.ts'
import type { WorkBudget } from '../work/work-budget.ts'
import type { Store, StoreReader } from '../store/store.ts'
import { checkResources, type CheckedResources } from './checked-resources.ts'
import type { PolicyCall } from './governance-call.ts'
import { cutAfterFault, peekActions, requireDomain } from './rule-domain.ts'

/** A body up to this size is parsed and checked within some milliseconds. */
const SMALL_BYTES = 4 * 1024
/** The same bound as for a body that is parsed at once. */
const MAX_VALUES = 100_000

type Outcome<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ApiError }

interface WrittenMembers {
  readonly actions?: readonly Action[] | undefined
  readonly resources?: readonly string[] | undefined
}

/**
 * The body of a request that writes a rule, read before its transaction, because all other writers
 * would wait while a large body is checked. Errors are kept and thrown later, in the order of the
 * checks.
 */
export interface RuleInput<Body> {
  readonly json: Outcome<unknown>
  readonly body: Outcome<Body>
  /** Valid actions, also of a body with other faults. */
  readonly actions: readonly Action[]
  /** Null for an invalid body, and for a small one, whose resources the transaction checks. */
  readonly checked: CheckedResources | null
}

export interface RuleInputDeps {
  readonly store: Pick<Store, 'read'>
  readonly budget: WorkBudget
}

/**
 * Reads a body; a large one is read in turns and charged to the caller's budget. Throws 404 or 403
 * for a caller without write permission, and 429 for an exhausted budget. `actionsOf` finds the
 * actions of the stored rule for a body without actions.
 */
export async function readRuleInput<S extends z.ZodType<WrittenMembers>>(
  deps: RuleInputDeps,
  schema: S,
  { principal, org, body }: Pick<PolicyCall, 'principal' | 'org' | 'body'>,
  actionsOf: (reader: StoreReader) => Promise<readonly Action[]> = async () => [],
): Promise<RuleInput<z.output<S>>> {
  if (body.bytes.length <= SMALL_BYTES) {
    const json = await attempt(() => readJson(body))
    return { ...parse(schema, json), checked: null }
  }
  const { payer, stored } = await deps.store.read(async (reader) => {
    const access = await authorize(reader, principal, org, 'policies:write')
    return { payer: payerOf(principal, access), stored: await actionsOf(reader) }
  })
  const work = deps.budget.begin(payer)
  try {
    const json = await attempt(() => readLargeJson(body, { maxValues: MAX_VALUES }, work))
    await work.turn()
    const input = work.run(() => parse(schema, json))
    await work.turn()
    if (!input.body.ok) return { ...input, checked: null }
    const { actions = stored, resources = [] } = input.body.value
    return { ...input, checked: await checkResources({ actions, resources }, work) }
  } finally {
    work.end()
  }
}

/** Throws 415, 413 or 400 for a body that is not acceptable JSON. */
export function requireJsonOf({ json }: RuleInput<unknown>): void {
  if (!json.ok) throw json.error
}

/** Throws 400. Mixed domains, also with the policy's `domain`, are reported before other faults. */
export function requireRuleOf<Body>(
  { body, actions }: RuleInput<Body>,
  domain: Domain | null,
): Body {
  requireDomain(actions, domain)
  if (!body.ok) throw body.error
  return body.value
}

function parse<S extends z.ZodType<WrittenMembers>>(
  schema: S,
  json: Outcome<unknown>,
): Omit<RuleInput<z.output<S>>, 'checked'> {
  if (!json.ok) return { json, body: json, actions: [] }
  const parsed = schema.safeParse(cutAfterFault(json.value), { reportInput: true })
  if (parsed.success)
    return { json, body: { ok: true, value: parsed.data }, actions: parsed.data.actions ?? [] }
  const error = refusalOf(parsed.error.issues)
  return { json, body: { ok: false, error }, actions: peekActions(json.value) ?? [] }
}

async function attempt<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    if (error instanceof ApiError) return { ok: false, error }
    throw error
  }
}
