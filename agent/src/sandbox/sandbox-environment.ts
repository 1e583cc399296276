import type { AgentLog } from '../host/agent-log.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import type { StartDeps } from './start-sandbox.ts'

/** The parts of the agent that its sandboxes use. */
export interface SandboxEnvironment {
  /** The directory of the agent. */
  readonly agentDir: string
  readonly socketPath: string
  readonly active: ActivePolicy
  readonly network: Omit<StartDeps['network'], 'findDestination'>
  readonly serveApi: StartDeps['serveApi']
  /** Monotonic, and wall time, in milliseconds. */
  readonly uptime: () => number
  readonly clock: () => number
  /** Milliseconds until a sandbox ends whose workspace is no longer granted. Default 10,000. */
  readonly graceMs?: number
  /** Milliseconds from the start of a sandbox until the next one is prepared. Default 500. */
  readonly prepareAfterMs?: number
  /** The program that keeps the namespaces of a sandbox. Default: the one of this agent. */
  readonly holderFile?: string
  readonly log: AgentLog
  readonly onError: (error: unknown) => void
}
