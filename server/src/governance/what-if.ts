import { decide, effectivePolicies } from '@palisade/policy-core'
import {
  checkRequestSchema,
  effectivePolicyQuerySchema,
  type CheckRequest,
  type PolicyBody,
} from '@palisade/protocol'
import { authorize, requireEntitled, type Access } from '../accounts/authorize.ts'
import type { Principal } from '../accounts/principal.ts'
import type { Answer } from '../http/answer.ts'
import { invalidArgument, notFound, permissionDenied } from '../http/api-error.ts'
import { quote } from '../http/describe-issue.ts'
import { readBody } from '../http/read-body.ts'
import { readQuery } from '../http/read-query.ts'
import type { StoreReader } from '../store/store.ts'
import { answerPolicies, type LargeAnswerDeps } from './answer-policies.ts'
import type { CompiledPolicies } from './compiled-policies.ts'
import { formatPolicy, formatSummary } from './format-policy.ts'
import { listHeads } from './policy-lookup.ts'
import { noQuerySchema, type GovernanceCall, type GovernanceDeps } from './governance-call.ts'

/** Judges a request as a machine of the given user or teams would. */
export async function checkAccess(
  deps: GovernanceDeps,
  call: GovernanceCall,
  compiledPolicies: CompiledPolicies,
): Promise<Answer> {
  return deps.store.read(async (reader) => {
    const access = await enter(reader, call)
    const body = readBody(checkRequestSchema, call.body)
    readQuery(noQuerySchema, call.query)
    requireOwnOrReadable(access, call.principal, body.user)
    const teams = await teamsOf(reader, call.org, body)
    const { revision, resolve_unlisted_names } = access.organization
    const compiled = await compiledPolicies.take({ org: call.org, revision, teams }, async () => ({
      policies: await policiesFor(reader, call.org, teams),
      resolve_unlisted_names,
      revision,
    }))
    return { status: 200, headers: {}, body: decide(compiled, body.request) }
  })
}

/** The policies that apply to one user, or to a machine without one. */
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
    const heads = await listHeads(reader, call.org)
    const mine = new Set(effectivePolicies(heads.map(formatSummary), teams).map(({ id }) => id))
    return {
      revision,
      heads: heads.filter(({ id }) => mine.has(id)),
      format: formatPolicy,
      around: [`{"revision":${revision},"policies":[`, ']}'],
    }
  })
}

async function enter(reader: StoreReader, call: GovernanceCall): Promise<Access> {
  const access = await authorize(reader, call.principal, call.org, null)
  // A person may always ask about himself, so his 403 waits for whom he asks about.
  if (call.principal.kind === 'organization') requireReadable(access)
  requireEntitled(access.organization)
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

async function policiesFor(
  reader: StoreReader,
  org: string,
  teams: readonly string[],
): Promise<PolicyBody[]> {
  const policies = await reader.policies.listWithRules(org)
  return effectivePolicies(policies.map(formatPolicy), teams)
}
