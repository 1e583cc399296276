export {
  CLIENT_ERROR_CODES,
  ClientError,
  type ApiFailure,
  type ClientErrorCode,
} from './client-error.ts'
export {
  agentPort,
  agentSocketPath,
  sharedDirectoryProblem,
  socketDirectoryProblem,
  untrustedSocketProblem,
  type AgentAddress,
} from './agent-socket.ts'
export {
  createAgentClient,
  type AgentClient,
  type AgentClientOptions,
  type LogOptions,
} from './agent/agent-client.ts'
export { BYPASSED, proxyVariables } from './agent/proxy-variables.ts'
export { askBriefly, type BriefDecision } from './agent/brief-decisions.ts'
export { createDeniedTargets, type DeniedTargets } from './agent/denied-line.ts'
export { createStagedClient, type StagedClient } from './agent/staged-client.ts'
export { startSandbox, type SandboxAnswer } from './agent/request-sandbox.ts'
export { backOffMs, type BackOff } from './back-off.ts'
export { readBoundedBody } from './bounded-body.ts'
export { decodeUtf8, readPrivateFile, type PrivateFile } from './private-file.ts'
export type { Credentials } from './server/access-token.ts'
export type { AuditClient, AuditFilter } from './server/audit.ts'
export type { AccessTokensClient } from './server/access-tokens.ts'
export type { InvitationsClient } from './server/invitations.ts'
export type { EventFilter, EventsClient } from './server/events.ts'
export { createDeviceKey, isWholeKey, thumbprintOf } from './device/device-key.ts'
export { keepName } from './device/keep-name.ts'
export { enrolMachine } from './device/enrol-machine.ts'
export { keyFileOf, writeKeyFile } from './device/key-file.ts'
export { createProver, type Prove, type ProvenRequest } from './device/proof.ts'
export type { DeviceFilter, DevicesClient } from './server/devices.ts'
export type { EnrolmentTokensClient } from './server/enrolment-tokens.ts'
export type { MembersClient, OrganizationClient, TeamsClient } from './server/organization.ts'
export type { UnusedRulesReport } from './server/unused-rules.ts'
export type { Changed, PoliciesClient, RulesClient } from './server/policies.ts'
export type { AppliedDocument, PolicySetClient, ReplayProgress } from './server/policy-set.ts'
export type { AccessRequestFilter, AccessRequestsClient } from './server/access-requests.ts'
export type { RolloutsClient } from './server/rollouts.ts'
export type { Pace } from './server/retry.ts'
export {
  createServerClient,
  type ServerClient,
  type ServerClientOptions,
} from './server/server-client.ts'
export type { AnswerBody, Fetch, FetchAnswer, FetchRequest } from './server/fetch.ts'
export { parseServerUrl } from './server/server-url.ts'
export { splitLines, type Line } from './split-lines.ts'
export type { WebhooksClient } from './server/webhooks.ts'
