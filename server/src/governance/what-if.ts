import { effectiveDefault, effectivePolicies } from '@palisade/policy-core'
import {
  checkRequestSchema,
  effectivePolicyQuerySchema,
  type CheckRequest,
  type DefaultDecision,
} from '@palisade/protocol'
import { authorize, requireEntitled, type Access } from '../identity/authorize.ts'
import { payerOf } from '../identity/payer.ts'
import type { Principal } from '../identity/principal.ts'
import type { Answer } from '../http/answer.ts'
import { ApiError, invalidArgument, notFound, permissionDenied } from '../platform/api-error.ts'
import { quote } from '../http/input/describe-issue.ts'
import { readBody } from '../http/body/read-body.ts'
import { readQuery } from '../http/input/read-query.ts'
import type { PolicyHeadRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import { answerPolicies, type LargeAnswerDeps } from './answer-policies.ts'
import type { CompiledPolicies, PolicySource } from './compilation/compiled-policies.ts'
import { formatDetailedPolicy, formatSummary } from '../store/aggregates/policies/format-policy.ts'
import { readAsOf } from './policy-lookup.ts'
import { listHeads } from '../store/list-heads.ts'
import type { ListHeads } from './remembered-heads.ts'
import { noQuerySchema, type GovernanceCall, type GovernanceDeps } from './governance-call.ts'

/** Policies may change while they are read; each attempt starts from their current state. */
const MAX_ATTEMPTS = 5

/** Caches that checks share. */
export interface CheckDeps {
  readonly compiledPolicies: CompiledPolicies
  readonly readHeads: ListHeads
}

/**
 * Decides a request as a machine of the given user or teams would. Policies are read one at a time,
 * each from its own snapshot, so that other requests run in between.
 */
export async function checkAccess(
  deps: GovernanceDeps,
  call: GovernanceCall,
  { compiledPolicies, readHeads }: CheckDeps,
): Promise<Answer> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { set, request, revision, payer } = await deps.store.read((reader) =>
      readQuestion(reader, call, readHeads),
    )
    const source: PolicySource = {
      caller: payer.caller,
      load: (head) => readAsOf(deps.store, head),
      begin: () => deps.budget.begin(payer),
      now: () => deps.now().getTime(),
    }
    const decision = await compiledPolicies.decide(set, source, request)
    if (decision !== null) return { status: 200, headers: {}, body: { ...decision, revision } }
  }
  throw new ApiError(
    429,
    'limit_exceeded',
    'the policies keep changing while they are read; wait and try again',
    { headers: { 'retry-after': '1' } },
  )
}

async function readQuestion(reader: StoreReader, call: GovernanceCall, readHeads: ListHeads) {
  const access = await enter(reader, call)
  const body = readBody(checkRequestSchema, call.body)
  readQuery(noQuerySchema, call.query)
  requireOwnOrReadable(access, call.principal, body.user)
  const teams = await teamsOf(reader, call.org, body)
  const heads = selectEffective(await readHeads(reader, access.organization), teams)
  const { revision, resolve_unlisted_names } = access.organization
  const standard = await defaultOf(reader, access, teams)
  const set = { org: call.org, heads, resolve_unlisted_names, default: standard }
  return { set, request: body.request, revision, payer: payerOf(call.principal, access) }
}

/** Answers with the policies that apply to one user, or to a machine without a user. */
export async function getEffectivePolicy(
  deps: LargeAnswerDeps,
  call: GovernanceCall,
): Promise<Answer> {
  return answerPolicies(deps, call.org, async (reader) => {
    const access = await enter(reader, call)
    const { user } = readQuery(effectivePolicyQuerySchema, call.query)
    requireOwnOrReadable(access, call.principal, user)
    const teams = await teamsOf(reader, call.org, { user })
    const { revision } = access.organization
    const standard = await defaultOf(reader, access, teams)
    return {
      payer: payerOf(call.principal, access),
      revision,
      heads: selectEffective(await listHeads(reader, call.org), teams),
      format: formatDetailedPolicy,
      around: [`{"revision":${revision},"default":"${standard}","policies":[`, ']}'],
    }
  })
}

/** Throws 403 for a caller who may not ask about any user of the organization. */
export function requireMayAsk({ kind }: Pick<Principal, 'kind'>, access: Access): void {
  // A person may always ask about themselves; `requireOwnOrReadable` checks all other requests.
  if (kind === 'organization') requireReadable(access)
  requireEntitled(access.organization)
}

async function enter(reader: StoreReader, call: GovernanceCall): Promise<Access> {
  const access = await authorize(reader, call.principal, call.org, null)
  requireMayAsk(call.principal, access)
  return access
}

function requireOwnOrReadable(access: Access, caller: Principal, user: string | undefined): void {
  if (caller.kind === 'user' && caller.username === user) return
  requireReadable(access)
}

function requireReadable(access: Access): void {
  if (!access.permissions.includes('policies:read'))
    throw permissionDenied('without `policies:read` you may only ask about yourself')
}

async function teamsOf(
  reader: StoreReader,
  org: string,
  subject: Pick<CheckRequest, 'user' | 'teams'>,
): Promise<readonly string[]> {
  if (subject.user !== undefined) {
    if ((await reader.memberships.find(org, subject.user)) === null)
      throw notFound(`member ${quote(subject.user)} not found`)
    return reader.teams.listOfUser(org, subject.user)
  }
  for (const team of subject.teams ?? [])
    if ((await reader.teams.find(org, team)) === null)
      throw invalidArgument(`team ${quote(team)} is not a team of this organization`, {
        field: 'teams',
      })
  return subject.teams ?? []
}

/** For a user in exactly these teams. */
async function defaultOf(
  reader: StoreReader,
  { organization }: Access,
  teams: readonly string[],
): Promise<DefaultDecision> {
  const chosen = await reader.teams.defaults(organization.name)
  return effectiveDefault([organization.default, ...teams.map((team) => chosen.get(team))])
}

/** Selects the policies that apply to a member of `teams`, in their order. */
function selectEffective(
  heads: readonly PolicyHeadRecord[],
  teams: readonly string[],
): PolicyHeadRecord[] {
  const effective = new Set(effectivePolicies(heads.map(formatSummary), teams).map(({ id }) => id))
  return heads.filter(({ id }) => effective.has(id))
}
