export { parseJson, type JsonProblem, type JsonResult } from './json.ts'
export {
  ERROR_CODES,
  errorEnvelopeSchema,
  type ErrorCode,
  type ErrorEnvelope,
} from './error-envelope.ts'
export { nameSchema, organizationNameSchema, teamIdSchema, usernameSchema } from './name.ts'
export {
  MAX_RESOURCE_LENGTH,
  createRuleRequestSchema,
  deleteRuleResponseSchema,
  ruleSchema,
  updateRuleRequestSchema,
  updateRuleResponseSchema,
  type CreateRuleRequest,
  type RuleBody,
  type UpdateRuleRequest,
} from './governance/rule.ts'
export {
  allowlistV0Schema,
  createPolicyRequestSchema,
  deletePolicyResponseSchema,
  listPoliciesQuerySchema,
  listPoliciesResponseSchema,
  policySchema,
  policySummarySchema,
  scopeSchema,
  updatePolicyRequestSchema,
  updatePolicyResponseSchema,
  type CreatePolicyRequest,
  type ListPoliciesResponse,
  type PolicyBody,
  type PolicySummary,
  type ScopeBody,
  type UpdatePolicyRequest,
} from './governance/policy.ts'
export {
  applyRequestSchema,
  applyResponseSchema,
  documentPolicySchema,
  exportResponseSchema,
  policyDocumentJsonSchema,
  policyDocumentSchema,
  type ApplyRequest,
  type ApplyResponse,
  type ExportResponse,
  type PolicyChange,
  type PolicyDocument,
  type ShownPolicy,
} from './governance/policy-document.ts'
export { policyFileSchema, type PolicyFile } from './governance/policy-file.ts'
export {
  checkRequestSchema,
  effectivePolicyQuerySchema,
  effectivePolicyResponseSchema,
  type CheckRequest,
  type EffectivePolicyResponse,
} from './governance/what-if.ts'
export {
  DEVICE_TOKEN_PREFIX,
  ORGANIZATION_TOKEN_PREFIX,
  PERMISSIONS,
  PERSONAL_TOKEN_PREFIX,
  ROLES,
  keySetSchema,
  tokenRequestSchema,
  tokenResponseSchema,
  type Permission,
  type Role,
  type TokenRequest,
  type TokenResponse,
} from './accounts/token.ts'
export {
  accessTokenSchema,
  createAccessTokenRequestSchema,
  createMemberRequestSchema,
  createTeamRequestSchema,
  createdAccessTokenSchema,
  deleteMemberQuerySchema,
  deleteTeamQuerySchema,
  listAccessTokensResponseSchema,
  listMembersResponseSchema,
  listTeamsResponseSchema,
  memberSchema,
  teamSchema,
  updateMemberRequestSchema,
  type AccessToken,
  type CreateAccessTokenRequest,
  type CreateMemberRequest,
  type CreatedAccessToken,
  type DeleteMemberQuery,
  type DeleteTeamQuery,
  type Member,
  type Team,
} from './accounts/admin.ts'
export {
  deviceSchema,
  enrolDeviceRequestSchema,
  enrolmentSchema,
  listDevicesResponseSchema,
  type Device,
  type Enrolment,
  type PublicKey,
} from './machine/enrolment.ts'
export {
  BUNDLE_MEDIA_TYPE,
  BUNDLE_SCHEMA,
  BUNDLE_TYPE,
  bundleSchema,
  type Bundle,
} from './machine/bundle.ts'
export { decisionSchema, explanationSchema } from './machine/decision.ts'
export {
  AGENT_STATES,
  LOCAL_API,
  agentStatusSchema,
  syncErrorSchema,
  syncResultSchema,
  type AgentState,
  type AgentStatus,
  type SyncError,
  type SyncResult,
} from './machine/local-api.ts'
export {
  EVENT_KINDS,
  eventSchema,
  listEventsQuerySchema,
  listEventsResponseSchema,
  type EventKind,
  type HistoryEvent,
  type ListEventsQuery,
  type ListEventsResponse,
} from './history/event.ts'
