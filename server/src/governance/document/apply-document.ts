import { authorize } from '../../accounts/authorize.ts'
import type { Answer } from '../../http/answer.ts'
import { ApiError } from '../../http/api-error.ts'
import { formatEntityTag, readEntityTags, requireMatch } from '../../http/entity-tag.ts'
import { readJson } from '../../http/read-body.ts'
import type { RawBody } from '../../http/raw-body.ts'
import { readQuery } from '../../http/read-query.ts'
import type { PolicyRecord, TeamRecord } from '../../store/records.ts'
import type { StoreReader } from '../../store/store.ts'
import { noQuerySchema, type GovernanceCall, type GovernanceDeps } from '../governance-call.ts'
import { answerOnce, readOnceRequest } from '../../idempotency/answer-once.ts'
import { showPlan } from './format-document.ts'
import {
  createPlanContext,
  planChanges,
  requireCompilablePlan,
  requirePlanWithinLimits,
  type PolicyPlan,
} from './plan-changes.ts'
import { asksForDryRun, readDocument } from './read-document.ts'
import { createTeamNames, type TeamNames } from './team-names.ts'
import { writePlan } from './write-plan.ts'

/** Enough for 100 policies of 250 rules with ten resources each. */
const MAX_VALUES = 500_000

/**
 * Makes the organization have the policies of a document: all of it in one transaction, or nothing.
 * A dry run answers the same and changes nothing; it needs `policies:read` alone.
 */
export async function applyDocument(deps: GovernanceDeps, call: GovernanceCall): Promise<Answer> {
  // Parsed before anything is locked, and judged only when the caller is known to be allowed.
  const body = parse(call.body)
  if (body.ok && asksForDryRun(body.json)) {
    const state = await readState(deps, call, 'policies:read')
    const { plan, teamNames } = await judge(deps, state, { ...call, json: body.json })
    return answer(plan, teamNames, { revision: state.revision, dryRun: true })
  }

  const ahead = body.ok ? await judgeAhead(deps, { ...call, json: body.json }) : null
  return deps.store.write(call.author, async (writer) => {
    const access = await authorize(writer, call.principal, call.org, 'policies:write')
    const { revision } = access.organization
    const once = readOnceRequest({
      key: call.idempotencyKey,
      principal: call.principal,
      place: ['POST', call.org, 'apply'],
      body: call.body.bytes,
    })
    return answerOnce(writer, once, deps.now(), {
      async judge() {
        if (!body.ok) throw body.error
        if (ahead?.revision === revision) return ahead.judgement
        const state = await stateOf(writer, call.org, revision)
        return judge(deps, state, { ...call, json: body.json })
      },
      async act({ plan, teamNames }) {
        await writePlan(writer, plan)
        return answer(plan, teamNames, {
          revision: await revisionOf(writer, call.org),
          dryRun: false,
        })
      },
    })
  })
}

function parse(body: RawBody): { ok: true; json: unknown } | { ok: false; error: ApiError } {
  try {
    return { ok: true, json: readJson(body, MAX_VALUES) }
  } catch (error) {
    if (error instanceof ApiError) return { ok: false, error }
    throw error
  }
}

/** What of an organization a document is judged by, as of one revision. */
interface OrganizationState {
  readonly revision: number
  readonly teams: readonly TeamRecord[]
  readonly stored: readonly PolicyRecord[]
}

type DocumentCall = GovernanceCall & { readonly json: unknown }

interface Judgement {
  readonly plan: PolicyPlan
  readonly teamNames: TeamNames
}

function readState(
  { store }: GovernanceDeps,
  { principal, org }: GovernanceCall,
  permission: 'policies:read' | 'policies:write',
): Promise<OrganizationState> {
  return store.read(async (reader) => {
    const { organization } = await authorize(reader, principal, org, permission)
    return stateOf(reader, org, organization.revision)
  })
}

async function stateOf(
  reader: StoreReader,
  org: string,
  revision: number,
): Promise<OrganizationState> {
  const teams = await reader.teams.list(org)
  return { revision, teams, stored: await reader.policies.listWithRules(org) }
}

/**
 * A large document takes seconds to judge, and so it is judged before other writers have to wait;
 * what comes out holds while the organization has the same revision. A refusal waits for its turn
 * like a plan, because the request may have been answered already.
 */
async function judgeAhead(
  deps: GovernanceDeps,
  call: DocumentCall,
): Promise<{ readonly revision: number; readonly judgement: Promise<Judgement> }> {
  const state = await readState(deps, call, 'policies:write')
  const judgement = judge(deps, state, call)
  await judgement.catch(() => undefined)
  return { revision: state.revision, judgement }
}

/** Everything that a request can be refused for, in the order of the single calls. */
async function judge(
  deps: GovernanceDeps,
  { revision, teams, stored }: OrganizationState,
  call: DocumentCall,
): Promise<Judgement> {
  const { org, json } = call
  const { limits, knownRules } = deps
  const teamNames = createTeamNames(teams)
  const requireConditions = (): void => {
    readQuery(noQuerySchema, call.query)
    const ifMatch = readEntityTags('If-Match', call.ifMatch)
    requireMatch(ifMatch, formatEntityTag(revision), 'organization')
  }
  const context = { teamNames, limits, knownRules, stored }
  const { policies, prune } = await readDocument(json, context).catch((error: unknown) => {
    // A limit comes last in the order of checks, also where it ended the reading.
    if (error instanceof ApiError && error.code === 'limit_exceeded') requireConditions()
    throw error
  })
  const plan = planChanges(stored, policies, createPlanContext(deps, { org, prune }))
  await requireCompilablePlan(knownRules, plan)
  requireConditions()
  requirePlanWithinLimits(deps, stored.length, plan)
  return { plan, teamNames }
}

async function revisionOf(reader: StoreReader, org: string): Promise<number> {
  return (await reader.organizations.find(org))?.revision ?? 0
}

function answer(
  plan: PolicyPlan,
  teamNames: TeamNames,
  state: { readonly revision: number; readonly dryRun: boolean },
): Answer {
  const headers = { etag: formatEntityTag(state.revision) }
  return { status: 200, headers, body: showPlan(plan, teamNames, state) }
}
