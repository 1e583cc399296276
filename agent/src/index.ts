export { type Agent } from './agent.ts'
export { AgentError } from './host/errors.ts'
export { startAgent } from './start-agent.ts'
