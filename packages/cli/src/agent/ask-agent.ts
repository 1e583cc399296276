import { createAgentClient, type AgentClient } from '@palisade/client'
import type { AgentIo } from '../runtime/io.ts'
import { reachAgent } from './reach-agent.ts'

/** Asks the agent of this run's data directory; see `reachAgent`. */
export function askAgent<T>(
  io: AgentIo,
  exitCode: number,
  ask: (agent: AgentClient) => Promise<T>,
  instead = '',
): Promise<T> {
  return reachAgent(io, exitCode, (address) => ask(createAgentClient(address)), instead)
}
