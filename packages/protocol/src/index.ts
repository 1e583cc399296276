export { countJson } from './json/count-json.ts'
export { parseLargeJson, type TooMuchJson } from './json/parse-large-json.ts'
export { parseJson, type JsonProblem, type JsonResult } from './json/parse-json.ts'
export {
  ERROR_CODES,
  errorEnvelopeSchema,
  type ErrorCode,
  type ErrorEnvelope,
} from './error-envelope.ts'
export { pageQuerySchema, type PageQuery } from './page.ts'
export { nearestName } from './nearest-name.ts'
export { timestampSchema } from './timestamp.ts'
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
export { composeYaml } from './policy-text/compose-yaml.ts'
export { unknownMember } from './policy-text/describe-issue.ts'
export { parseSource, type ParsedSource } from './policy-text/parse-source.ts'
export { placeRules, type RulePlace } from './policy-text/place-rules.ts'
export { findRepeated, pathOfMember, readDocuments } from './policy-text/read-documents.ts'
export type { PlacedPolicy, ReadDocuments, SourcePolicy } from './policy-text/read-documents.ts'
export { readLocalDocuments, readLocalPolicies } from './policy-text/read-local-policies.ts'
export { describeProblem, readPolicyFile } from './policy-text/read-policy-file.ts'
export {
  checkRequestSchema,
  effectivePolicyQuerySchema,
  effectivePolicyResponseSchema,
  type CheckRequest,
  type EffectivePolicyResponse,
} from './governance/what-if.ts'
export {
  ENROLMENT_TOKEN_PREFIX,
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
  changePasswordRequestSchema,
  createAccessTokenRequestSchema,
  createMemberRequestSchema,
  createdMemberSchema,
  invitationSchema,
  listInvitationsResponseSchema,
  createTeamRequestSchema,
  createdAccessTokenSchema,
  deleteTeamQuerySchema,
  listAccessTokensResponseSchema,
  listUserOrganizationsResponseSchema,
  organizationSchema,
  passwordChangedSchema,
  resetPasswordRequestSchema,
  updateOrganizationRequestSchema,
  userOrganizationSchema,
  listMembersResponseSchema,
  listTeamsResponseSchema,
  madeTokensQuerySchema,
  memberSchema,
  teamSchema,
  updateMemberRequestSchema,
  updatedMemberSchema,
  type AccessToken,
  type ChangePasswordRequest,
  type OrganizationBody,
  type PasswordChanged,
  type ResetPasswordRequest,
  type UpdateOrganizationRequest,
  type UserOrganization,
  type CreateAccessTokenRequest,
  type CreateMemberRequest,
  type CreatedMember,
  type Invitation,
  type CreatedAccessToken,
  type ListAccessTokensResponse,
  type ListInvitationsResponse,
  type ListMembersResponse,
  type ListTeamsResponse,
  type ListUserOrganizationsResponse,
  type DeleteTeamQuery,
  type MadeTokensQuery,
  type Member,
  type Team,
  type UpdatedMember,
} from './accounts/admin.ts'
export {
  DEFAULT_DISTRIBUTION_SETTINGS,
  changedDistributionSettingsSchema,
  distributionSettingsSchema,
  type ChangedDistributionSettings,
  type DistributionSettings,
} from './accounts/distribution-settings.ts'
export {
  deviceKeySchema,
  deviceSchema,
  deviceTokenResponseSchema,
  enrolDeviceRequestSchema,
  enrolMachineRequestSchema,
  enrolmentSchema,
  keptEnrolmentSchema,
  listDevicesQuerySchema,
  listDevicesResponseSchema,
  updateDeviceRequestSchema,
  type Device,
  type DeviceKey,
  type DeviceTokenResponse,
  type Enrolment,
  type KeptEnrolment,
  type ListDevicesQuery,
  type ListDevicesResponse,
  type PublicKey,
  type UpdateDeviceRequest,
} from './machine/enrolment.ts'
export { deviceNameSchema, nameOfHost } from './machine/device-name.ts'
export {
  createEnrolmentTokenRequestSchema,
  createdEnrolmentTokenSchema,
  formatEnrolmentToken,
  listEnrolmentTokensResponseSchema,
  parseEnrolmentToken,
  type CreateEnrolmentTokenRequest,
  type CreatedEnrolmentToken,
  type EnrolmentToken,
  type EnrolmentTokenParts,
  type ListEnrolmentTokensResponse,
} from './machine/enrolment-token.ts'
export {
  DEVICE_VIEW_TYPE,
  MAX_POLICIES_OF_VIEW,
  POLICY_DOCUMENT_SCHEMA,
  TIMESTAMP_TAG_CHARACTERS,
  deviceViewSchema,
  nonceSchema,
  viewPolicySchema,
  viewSettingsSchema,
  viewTargetSchema,
  type DeviceView,
  type ViewPolicy,
  type ViewSettings,
  type ViewTarget,
} from './machine/view.ts'
export { formatSelfTest, readSelfTest, selfTestSchema } from './machine/self-test.ts'
export {
  BUNDLE_FILE_NAME,
  BUNDLE_FORMAT,
  MAX_BUNDLE_BYTES,
  bundleSchema,
  type Bundle,
} from './machine/bundle.ts'
export {
  CODES_WITHOUT_POLICY,
  MAX_REPORT_DETAIL,
  deviceReportSchema,
  type DeviceReport,
  type EnforcementReport,
} from './machine/report.ts'
export {
  GRANT_LIMITS,
  GRANT_TYPE,
  GRANT_VERSION,
  MAX_GRANT_BYTES,
  grantSchema,
  issueGrantRequestSchema,
  listGrantsResponseSchema,
  type Grant,
  type GrantInForce,
  type IssueGrantRequest,
  type OutstandingGrant,
} from './machine/break-glass.ts'
export { revisionStatusSchema, type RevisionStatus } from './machine/revision-status.ts'
export {
  ROLLOUT_STATES,
  advanceRolloutRequestSchema,
  listRolloutsResponseSchema,
  resumeRolloutRequestSchema,
  rollBackResponseSchema,
  rolloutSchema,
  rolloutStatusSchema,
  startRolloutRequestSchema,
  type AdvanceRolloutRequest,
  type ListRolloutsResponse,
  type RejectionLimit,
  type ResumeRolloutRequest,
  type RollBackResponse,
  type Rollout,
  type RolloutMachines,
  type RolloutStage,
  type RolloutState,
  type RolloutStatus,
  type StartRolloutRequest,
} from './machine/rollout.ts'
export {
  ASSIGNMENT_VERSION_HEADER,
  MAX_UPDATE_BYTES,
  MAX_UPDATE_DOCUMENTS,
  MAX_UPDATE_ROOTS,
  NONCE_HEADER,
  RENEWAL_HEADER,
  RENEWAL_SECONDS,
  assignmentVersionHeaderSchema,
  secondsHeaderSchema,
  UPDATE_PATH,
  updateQuerySchema,
} from './machine/update.ts'
export { MAX_SPREAD_SECONDS, hintQuerySchema, hintSchema, type Hint } from './machine/hint.ts'
export {
  CONTENT_FAULTS,
  decisionSchema,
  explanationSchema,
  type ContentFault,
  type StoredDecision,
} from './machine/decision.ts'
export {
  DEFAULT_LOG_LIMIT,
  FIRST_PREVIOUS,
  MAX_LOG_LIMIT,
  logVerificationSchema,
  recordLineSchema,
  type ChainFault,
  type DecisionRecord,
  type FlowCause,
  type LogVerification,
  type LossReason,
  type LossRecord,
  type RecordLine,
  type RecordPoint,
  type RecordProtocol,
  type RecordedProgram,
} from './machine/decision-record.ts'
export { DECIDE_PATH, MAX_BATCH_BYTES, MAX_BATCH_LINES, NDJSON } from './machine/decide-path.ts'
export {
  AGENT_STATES,
  LOCAL_API,
  agentStatusSchema,
  breakGlassResultSchema,
  localDecisionSchema,
  localExplanationSchema,
  syncResultSchema,
  type AgentState,
  type AgentStatus,
  type AwaitedIssue,
  type BreakGlassResult,
  type BreakGlassStatus,
  type LocalDecision,
  type LocalExplanation,
  type SyncError,
  type InForce,
  type SyncResult,
} from './machine/local-api.ts'
export {
  ASSURANCE_CLASSES,
  assuranceClassSchema,
  assuranceSchema,
  type Assurance,
  type AssuranceClass,
} from './machine/assurance.ts'
export { PROBE_NAMES, probeResultSchema, type ProbeResult } from './machine/self-probe.ts'
export {
  MAX_LOCAL_DENIES,
  addLocalDenyRequestSchema,
  localDenySchema,
  localRulesResultSchema,
  removeLocalDenyRequestSchema,
  type AddLocalDenyRequest,
  type LocalDeny,
  type LocalRulesResult,
  type RemoveLocalDenyRequest,
} from './machine/local-rules.ts'
export {
  limitMechanismsSchema,
  MAX_WORKSPACES,
  sandboxLaunchSchema,
  sandboxLimitsSchema,
  sandboxRequestSchema,
  sandboxResultSchema,
  workspaceSchema,
  type LimitMechanisms,
  type SandboxLaunch,
  type SandboxLimits,
  type SandboxRequest,
  type SandboxResult,
  type Workspace,
} from './machine/sandbox.ts'
export {
  SANDBOX_AGENT,
  SANDBOX_PROGRAMS,
  SANDBOX_PROXY,
  SANDBOXES_PATH,
} from './machine/sandbox-path.ts'
export {
  policyListLineSchema,
  type InactiveReason,
  type ListedRule,
  type PolicyListHead,
  type PolicyListLine,
} from './machine/policy-listing.ts'
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
export {
  DELIVERY_STATES,
  createWebhookRequestSchema,
  deliverySchema,
  listDeliveriesQuerySchema,
  listDeliveriesResponseSchema,
  listWebhooksResponseSchema,
  updateWebhookRequestSchema,
  webhookSchema,
  webhookWithSecretSchema,
  type CreateWebhookRequest,
  type Delivery,
  type DeliveryState,
  type ListDeliveriesQuery,
  type ListDeliveriesResponse,
  type ListWebhooksResponse,
  type UpdateWebhookRequest,
  type Webhook,
  type WebhookWithSecret,
} from './history/webhook.ts'
