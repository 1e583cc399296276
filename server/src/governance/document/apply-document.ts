import { authorize, type Access } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import { formatPrincipal } from '../../identity/principal.ts'
import type { Answer } from '../../http/answer.ts'
import { ApiError, conflict } from '../../platform/api-error.ts'
import { formatEntityTag, readEntityTags, requireMatch } from '../../http/input/entity-tag.ts'
import { readLargeJson } from '../../http/body/read-body.ts'
import { readQuery } from '../../http/input/read-query.ts'
import type { Work } from '../../work/work-budget.ts'
import type {
  OrganizationRecord,
  PolicyHeadRecord,
  PolicyRecord,
  TeamRecord,
} from '../../store/records.ts'
import type { StoreReader } from '../../store/store.ts'
import { createAnswerTurns, type AnswerTurns } from '../../work/answer-turns.ts'
import {
  noQuerySchema,
  type GovernanceCall,
  type GovernanceDeps,
  type GovernanceRouteDeps,
} from '../governance-call.ts'
import { answerOnce, readOnceRequest } from '../../identity/idempotency/answer-once.ts'
import { readCommittedLoads } from '../compilation/path-loads.ts'
import { readAsOf, readInTurns } from '../policy-lookup.ts'
import { listHeads } from '../../store/list-heads.ts'
import { formatPlan } from './format-document.ts'
import {
  createPlanContext,
  planChanges,
  requireCompilablePlan,
  requirePlanPathCost,
  requirePlanWithinLimits,
  type PlannedFor,
  type PolicyPlan,
} from './plan-changes.ts'
import { asksForDryRun, selectAffected, readDocument } from './read-document.ts'
import { createTeamNames, type TeamNames } from './team-names.ts'
import { writePlan } from './write-plan.ts'

/** More than 4 MiB of ordinary rules hold. */
const MAX_VALUES = 500_000
const ADVICE = 'apply the policies in several documents, without `prune`'

const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'
/** Attempts to read policies one by one; if they keep changing, one snapshot is read instead. */
const MAX_READS = 3
/** Attempts to validate a document while the organization keeps changing. */
const MAX_ATTEMPTS = 5

/** Waiting documents of one organization, each of up to 4 MiB. */
const MAX_WAITING = 8

/** Turns of documents that are validated: each holds policies and a parsed document. */
export const createDocumentTurns = (): AnswerTurns => createAnswerTurns(MAX_WAITING)

/** Aborts a transaction whose document was validated against an earlier revision. */
class OrganizationChanged extends Error {}

/**
 * Gives the organization the policies of a document, all in one transaction or none. A dry run
 * gives the same answer without writing and needs only `policies:read`. The document is validated
 * before the transaction, so that other writers do not wait for it, and again when the organization
 * changed meanwhile. Throws 409 when it changed at every attempt.
 */
export async function applyDocument(
  deps: GovernanceRouteDeps,
  call: GovernanceCall,
): Promise<Answer> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const validated = await deps.documents.run(
      call.org,
      () => readAndValidate(deps, call),
      formatPrincipal(call.principal),
    )
    if (validated.planned !== null) return validated.planned
    try {
      return await writeValidated(deps, call, validated)
    } catch (error) {
      if (!(error instanceof OrganizationChanged)) throw error
    }
  }
  throw conflict(
    `the organization changed at each of ${MAX_ATTEMPTS} attempts to apply the document; ` +
      'send it again',
  )
}

/** Throws `OrganizationChanged` unless the organization still has the validated revision. */
function writeValidated(
  deps: GovernanceRouteDeps,
  call: GovernanceCall,
  { body, ahead }: Awaited<ReturnType<typeof readAndValidate>>,
): Promise<Answer> {
  return deps.store.write(call.author, async (writer) => {
    const access = await authorize(writer, call.principal, call.org, 'policies:write')
    const { revision } = access.organization
    const once = readOnceRequest({
      key: call.idempotencyKey,
      principal: call.principal,
      operation: ['POST', call.org, 'apply'],
      body: call.body.bytes,
    })
    return answerOnce(writer, once, deps.now(), {
      async validate() {
        if (!body.ok) throw body.error
        if (ahead === null) throw new TypeError('a document that was read is validated ahead')
        deps.beingSent.requireRoom(call.org)
        if (ahead.revision !== revision) throw new OrganizationChanged()
        return { ...(await ahead.validation), work: ahead.work }
      },
      async act({ plan, teamNames, work }) {
        await writePlan(writer, plan, work)
        const written = (await writer.organizations.find(call.org))?.revision ?? 0
        const answer = await showPlan(plan, teamNames, { revision: written, dryRun: false, work })
        work.end()
        return answer
      },
    })
  })
}

/** Runs once at a time in an organization: a parsed document takes many times its size in bytes. */
async function readAndValidate(deps: GovernanceRouteDeps, call: GovernanceCall) {
  const body = await parse(deps, call)
  if (!body.ok) return { body, planned: null, ahead: null }
  const isDryRun = asksForDryRun(body.json)
  const permission = isDryRun ? 'policies:read' : 'policies:write'
  const ahead = await validateAhead(deps, { ...call, json: body.json }, permission)
  return { body, planned: isDryRun ? await answerPlan(deps, call.org, ahead) : null, ahead }
}

async function answerPlan(
  { beingSent }: GovernanceRouteDeps,
  org: string,
  { revision, validation, work }: ValidatedAhead,
): Promise<Answer> {
  const { plan, teamNames } = await validation
  beingSent.requireRoom(org)
  try {
    return await showPlan(plan, teamNames, { revision, dryRun: true, work })
  } finally {
    work.end()
  }
}

async function showPlan(
  plan: PolicyPlan,
  teamNames: TeamNames,
  shown: Parameters<typeof formatPlan>[2],
): Promise<Answer> {
  const headers = { etag: formatEntityTag(shown.revision), 'content-type': JSON_MEDIA_TYPE }
  return { status: 200, headers, body: await formatPlan(plan, teamNames, shown) }
}

/** Charges the time, also of a body that is refused. Throws 429 before it. */
async function parse(
  { store, budget }: Pick<GovernanceDeps, 'budget' | 'store'>,
  { principal, org, body }: GovernanceCall,
): Promise<{ ok: true; json: unknown } | { ok: false; error: ApiError }> {
  const access = await store.read((reader) => authorize(reader, principal, org, null))
  const work = budget.begin(payerOf(principal, access))
  const limits = { maxValues: MAX_VALUES, advice: ADVICE }
  try {
    return { ok: true, json: await readLargeJson(body, limits, work) }
  } catch (error) {
    if (error instanceof ApiError) return { ok: false, error }
    throw error
  } finally {
    work.end()
  }
}

/** The state of an organization that a document is validated against, as of one revision. */
interface OrganizationState {
  readonly revision: number
  readonly teams: readonly TeamRecord[]
  /** The policies that the document may affect. */
  readonly stored: readonly PolicyRecord[]
  /** All other policies; their rules are not read. */
  readonly others: readonly PolicyHeadRecord[]
}

export type DocumentCall = GovernanceCall & { readonly json: unknown }

interface Validation {
  readonly plan: PolicyPlan
  readonly teamNames: TeamNames
}

interface ValidatedAhead {
  readonly revision: number
  readonly validation: Promise<Validation>
  /** Continues while the document is written. */
  readonly work: Work
}

/**
 * Validates a document ahead of the transaction: a large one takes seconds, in which all other
 * writers would wait. The result holds while the organization keeps its revision. A refusal is kept
 * as a rejected promise, because a kept answer for the same idempotency key takes precedence.
 */
async function validateAhead(
  deps: GovernanceRouteDeps,
  call: DocumentCall,
  permission: 'policies:read' | 'policies:write',
): Promise<ValidatedAhead> {
  const enter = (reader: StoreReader) => authorize(reader, call.principal, call.org, permission)
  const payer = payerOf(call.principal, await deps.store.read(enter))
  const work = deps.budget.begin(payer)
  try {
    const state = await readCurrent(deps, enter, { affects: selectAffected(call.json), work })
    const otherLoads = () => readCommittedLoads(deps, state.others)
    const validation = validateDocument(deps, { ...state, otherLoads }, call, work)
    await validation.catch(() => undefined)
    return { revision: state.revision, validation, work }
  } finally {
    work.end()
  }
}

interface Reading {
  /** Selects the policies to read, by name. */
  readonly affects: (name: string) => boolean
  readonly work: Work
}

export async function readCurrent(
  { store }: Pick<GovernanceDeps, 'store'>,
  enter: (reader: StoreReader) => Promise<Access>,
  { affects, work }: Reading,
): Promise<OrganizationState> {
  for (let attempt = 0; attempt < MAX_READS; attempt += 1) {
    const { heads, ...state } = await store.read(async (reader) => {
      const { organization } = await enter(reader)
      return readHeads(reader, organization, affects)
    })
    const stored = await readInTurns(heads, (head) => readAsOf(store, head), work)
    if (stored !== null) return { ...state, stored }
  }
  return store.read(async (reader) => readState(reader, await enter(reader), { affects, work }))
}

/** Reads everything from the snapshot of `reader`. */
async function readState(
  reader: StoreReader,
  { organization }: Access,
  { affects, work }: Reading,
): Promise<OrganizationState> {
  const { heads, ...state } = await readHeads(reader, organization, affects)
  const stored = await readInTurns(heads, ({ org, id }) => reader.policies.find(org, id), work)
  if (stored === null) throw new TypeError('a policy is not in its own snapshot')
  return { ...state, stored }
}

async function readHeads(
  reader: StoreReader,
  { name, revision }: OrganizationRecord,
  affects: Reading['affects'],
) {
  const all = await listHeads(reader, name)
  return {
    revision,
    teams: await reader.teams.list(name),
    heads: all.filter((head) => affects(head.name)),
    others: all.filter((head) => !affects(head.name)),
  }
}

/** Performs all checks of a request, in the order of the single endpoints. */
export async function validateDocument(
  deps: GovernanceDeps,
  { revision, teams, stored, others, otherLoads }: OrganizationState & PlannedFor,
  call: Pick<DocumentCall, 'org' | 'json' | 'query' | 'ifMatch'>,
  work: Work,
): Promise<Validation> {
  const { org, json } = call
  const { limits, knownRules } = deps
  const teamNames = createTeamNames(teams)
  const requireConditions = (): void => {
    readQuery(noQuerySchema, call.query)
    const ifMatch = readEntityTags('If-Match', call.ifMatch)
    requireMatch(ifMatch, formatEntityTag(revision), 'organization')
  }
  const count = stored.length + others.length
  const context = { teamNames, limits, stored, count }
  const { policies, prune } = await readDocument(json, context, work).catch((error: unknown) => {
    // Limits come last in the order of checks, even when one ended the parsing.
    if (error instanceof ApiError && error.code === 'limit_exceeded') requireConditions()
    throw error
  })
  const planContext = createPlanContext(deps, { org, prune })
  const plan = await planChanges(stored, policies, planContext, work)
  await requireCompilablePlan(knownRules, plan, work)
  requireConditions()
  await requirePlanWithinLimits(limits, count, plan, work)
  await requirePlanPathCost(knownRules, plan, { stored, otherLoads }, work)
  return { plan: { ...plan, unmanaged: [...plan.unmanaged, ...others] }, teamNames }
}
