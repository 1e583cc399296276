export { type Agent } from './agent.ts'
export { AgentError } from './errors.ts'
export { startAgent } from './start-agent.ts'
