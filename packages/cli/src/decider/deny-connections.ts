import type { ConnectionRequest } from '../hook/access-request.ts'
import { describeUndecided } from '../hook/denial-text.ts'
import { findDenial } from '../hook/find-denial.ts'
import { CliError } from '../runtime/cli-error.ts'
import type { AgentIo } from '../runtime/io.ts'

export interface Denial {
  readonly text: string
  /** Whether the policy denies. Otherwise the agent could not be asked. */
  readonly isByPolicy: boolean
}

/** Callers wait five seconds for an answer. */
const AGENT_TIMEOUT_MS = 4_000

/** The denial of the first connection that is not allowed; null if all are. Never rejects. */
export async function denyConnections(
  requests: readonly ConnectionRequest[],
  io: AgentIo,
): Promise<Denial | null> {
  try {
    const text = await findDenial(requests, io, AGENT_TIMEOUT_MS)
    return text === null ? null : { text, isByPolicy: true }
  } catch (error) {
    const problem = error instanceof CliError ? error.lines.join('; ') : 'the decider has failed'
    return { text: describeUndecided(problem), isByPolicy: false }
  }
}
