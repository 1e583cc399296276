import {
  decisionSchema,
  effectivePolicyResponseSchema,
  createdMemberSchema,
  listMembersResponseSchema,
  listTeamApproversResponseSchema,
  listTeamsResponseSchema,
  organizationSchema,
  revisionStatusSchema,
  suggestionsResponseSchema,
  teamSchema,
  updatedMemberSchema,
  type CheckRequest,
  type CreateMemberRequest,
  type CreatedMember,
  type DeleteTeamQuery,
  type EffectivePolicyResponse,
  type OrganizationBody,
  type UpdateOrganizationRequest,
  type MadeTokensQuery,
  type Member,
  type RevisionStatus,
  type StoredDecision,
  type Role,
  type SuggestionsRequest,
  type SuggestionsResponse,
  type Team,
  type UpdateTeamRequest,
  type UpdatedMember,
} from '@palisade/protocol'
import { createAccessRequestsClient, type AccessRequestsClient } from './access-requests.ts'
import { createAccessTokensClient, type AccessTokensClient } from './access-tokens.ts'
import type { Call } from './call.ts'
import { createDevicesClient, type DevicesClient } from './devices.ts'
import { createEnrolmentTokensClient, type EnrolmentTokensClient } from './enrolment-tokens.ts'
import { createAuditClient, type AuditClient } from './audit.ts'
import { createEventsClient, type EventsClient } from './events.ts'
import { collectPages } from './list-pages.ts'
import {
  createPoliciesClient,
  createRulesClient,
  type PoliciesClient,
  type RulesClient,
} from './policies.ts'
import { createPolicySetClient, type PolicySetClient } from './policy-set.ts'
import { createRolloutsClient, type RolloutsClient } from './rollouts.ts'
import { apiPath, formatQuery } from './server-url.ts'
import { fetchUnusedRules, type UnusedRulesReport } from './unused-rules.ts'
import { createWebhooksClient, type WebhooksClient } from './webhooks.ts'

export interface MembersClient {
  /** By username, page by page. */
  list(): Promise<readonly Member[]>
  /** A user with an account of another organization is `invited` and must accept first. */
  create(body: CreateMemberRequest): Promise<CreatedMember>
  /** `made` keeps or revokes the organization tokens that the member created. */
  setRole(username: string, role: Role, made?: MadeTokensQuery): Promise<UpdatedMember>
  /** Also revokes the devices of the member; `made` as above. */
  remove(username: string, made?: MadeTokensQuery): Promise<void>
}

export interface TeamsClient {
  /** By name, page by page. */
  list(): Promise<readonly Team[]>
  create(name: string): Promise<Team>
  update(teamId: string, body: UpdateTeamRequest): Promise<Team>
  /** Refused with 409 while a policy uses the team, unless `policies` tells how to treat it. */
  delete(teamId: string, policies?: DeleteTeamQuery): Promise<void>
  addMember(teamId: string, username: string): Promise<void>
  removeMember(teamId: string, username: string): Promise<void>
  /** Names of the members who may answer access requests of the team's members. */
  approvers(teamId: string): Promise<readonly string[]>
  addApprover(teamId: string, username: string): Promise<void>
  removeApprover(teamId: string, username: string): Promise<void>
}

const MAX_SUGGESTIONS_BYTES = 32 * 1024 * 1024
/** The server reads for a minute, and calculates for another; others may be before. */
const SUGGESTIONS_TIMEOUT_MS = 300_000

/** Access to one organization. */
export interface OrganizationClient {
  get(): Promise<OrganizationBody>
  update(settings: UpdateOrganizationRequest): Promise<OrganizationBody>
  /** The decision of a user's machine by the stored policies. */
  check(question: CheckRequest): Promise<StoredDecision>
  /** The policies that apply to one member. */
  effectivePolicy(user: string): Promise<EffectivePolicyResponse>
  /** Progress of a revision on the machines. */
  revisionStatus(revision: number): Promise<RevisionStatus>
  /** The narrowest rules for recorded requests; takes up to some minutes. */
  suggest(options: SuggestionsRequest): Promise<SuggestionsResponse>
  /** Rules that decided no request in the records kept from `since` on (RFC 3339), of all pages. */
  unusedRules(since?: string): Promise<UnusedRulesReport>
  readonly policies: PoliciesClient
  readonly rules: RulesClient
  readonly policySet: PolicySetClient
  readonly members: MembersClient
  readonly teams: TeamsClient
  readonly accessRequests: AccessRequestsClient
  readonly accessTokens: AccessTokensClient
  readonly devices: DevicesClient
  readonly enrolmentTokens: EnrolmentTokensClient
  readonly events: EventsClient
  readonly audit: AuditClient
  readonly rollouts: RolloutsClient
  readonly webhooks: WebhooksClient
}

export function createOrganizationClient(
  call: Call,
  org: string,
  { newKey, server }: { readonly newKey: () => string; readonly server: string },
): OrganizationClient {
  const root = `/api/v1${apiPath('orgs', org)}`
  return {
    get: async () => call({ method: 'GET', path: root }, organizationSchema),
    update: async (body) => call({ method: 'PATCH', path: root, body }, organizationSchema),
    revisionStatus: async (revision) =>
      call({ method: 'GET', path: `${root}/revisions/${revision}` }, revisionStatusSchema),
    check: async (body) => call({ method: 'POST', path: `${root}/check`, body }, decisionSchema),
    effectivePolicy: async (user) =>
      call(
        { method: 'GET', path: `${root}/effective-policy${formatQuery({ user })}` },
        effectivePolicyResponseSchema,
      ),
    suggest: async (body) =>
      call(
        {
          method: 'POST',
          path: `${root}/suggestions`,
          body,
          maxAnswerBytes: MAX_SUGGESTIONS_BYTES,
          timeoutMs: SUGGESTIONS_TIMEOUT_MS,
        },
        suggestionsResponseSchema,
      ),
    unusedRules: (since) => fetchUnusedRules(call, `${root}/unused-rules`, since),
    policies: createPoliciesClient(call, org, newKey),
    rules: createRulesClient(call, org, newKey),
    policySet: createPolicySetClient(call, root),
    members: createMembersClient(call, `${root}/members`),
    teams: createTeamsClient(call, `${root}/teams`),
    accessRequests: createAccessRequestsClient(call, `${root}/access-requests`),
    accessTokens: createAccessTokensClient(call, `${root}/access-tokens`),
    devices: createDevicesClient(call, `${root}/devices`, server),
    enrolmentTokens: createEnrolmentTokensClient(call, `${root}/enrolment-tokens`),
    events: createEventsClient(call, `${root}/events`),
    audit: createAuditClient(call, org),
    rollouts: createRolloutsClient(call, `${root}/rollouts`),
    webhooks: createWebhooksClient(call, `${root}/webhooks`),
  }
}

function createMembersClient(call: Call, root: string): MembersClient {
  const one = (username: string): string => root + apiPath(username)
  return {
    list: async () => collectPages(call, { path: root, page: listMembersResponseSchema }),
    create: async (body) => call({ method: 'POST', path: root, body }, createdMemberSchema),
    setRole: async (username, role, made = {}) =>
      call(
        { method: 'PATCH', path: one(username) + formatQuery(made), body: { role } },
        updatedMemberSchema,
      ),
    remove: async (username, made = {}) =>
      call.empty({ method: 'DELETE', path: one(username) + formatQuery(made) }),
  }
}

function createTeamsClient(call: Call, root: string): TeamsClient {
  const member = (teamId: string, username: string): string =>
    root + apiPath(teamId, 'members', username)
  const approver = (teamId: string, username: string): string =>
    root + apiPath(teamId, 'approvers', username)
  return {
    list: async () => collectPages(call, { path: root, page: listTeamsResponseSchema }),
    create: async (name) => call({ method: 'POST', path: root, body: { name } }, teamSchema),
    update: async (teamId, body) =>
      call({ method: 'PATCH', path: root + apiPath(teamId), body }, teamSchema),
    delete: async (teamId, policies = {}) =>
      call.empty({ method: 'DELETE', path: root + apiPath(teamId) + formatQuery(policies) }),
    addMember: async (teamId, username) =>
      call.empty({ method: 'PUT', path: member(teamId, username) }),
    removeMember: async (teamId, username) =>
      call.empty({ method: 'DELETE', path: member(teamId, username) }),
    async approvers(teamId) {
      const path = root + apiPath(teamId, 'approvers')
      const all = await collectPages(call, { path, page: listTeamApproversResponseSchema })
      return all.map(({ username }) => username)
    },
    addApprover: async (teamId, username) =>
      call.empty({ method: 'PUT', path: approver(teamId, username) }),
    removeApprover: async (teamId, username) =>
      call.empty({ method: 'DELETE', path: approver(teamId, username) }),
  }
}
