export {
  CLIENT_ERROR_CODES,
  ClientError,
  type ApiFailure,
  type ClientErrorCode,
} from './client-error.ts'
export { agentSocketPath, socketDirectoryProblem } from './agent-socket.ts'
export {
  createAgentClient,
  type AgentClient,
  type AgentClientOptions,
  type DecisionBody,
  type ExplanationBody,
} from './agent/agent-client.ts'
export type { Credentials } from './server/access-token.ts'
export type { AccessTokensClient } from './server/access-tokens.ts'
export type { EventFilter, EventsClient } from './server/events.ts'
export type {
  DevicesClient,
  MembersClient,
  OrganizationClient,
  TeamsClient,
} from './server/organization.ts'
export type { Changed, PoliciesClient, RulesClient } from './server/policies.ts'
export type { AppliedDocument, PolicySetClient } from './server/policy-set.ts'
export type { Pace } from './server/retry.ts'
export {
  createServerClient,
  type ServerClient,
  type ServerClientOptions,
} from './server/server-client.ts'
export { parseServerUrl } from './server/server-url.ts'
export type { WebhooksClient } from './server/webhooks.ts'
