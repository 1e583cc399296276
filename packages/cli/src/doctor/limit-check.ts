import type { LimitMechanisms } from '@palisade/protocol'
import { askAgent } from '../agent/ask-agent.ts'
import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { AgentIo, Io } from '../runtime/io.ts'
import { ok, skip, warn, type Check } from './check.ts'

const SERVICE = 'run the agent as a systemd service with `Delegate=yes`'

/** Which mechanism bounds the sandboxes of the agent. Warnings only: a sandbox starts without. */
export async function checkLimits(io: AgentIo & Pick<Io, 'platform'>): Promise<Check> {
  if (io.platform !== 'linux') return skip('limits', 'there are no sandboxes here')
  try {
    return describeLimits(await askAgent(io, EXIT.failed, (agent) => agent.sandboxLimits()))
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return skip('limits', 'this agent does not tell how it bounds sandboxes')
  }
}

export function describeLimits({ processes, memory }: LimitMechanisms): Check {
  if (processes === null)
    return warn('limits', 'nothing bounds the processes of a sandbox of root', SERVICE)
  const how = processes === 'cgroup' ? 'by a control group' : 'by the kernel for each user'
  const detail = `processes are bounded ${how}`
  return memory === null
    ? ok('limits', `${detail}; \`--limit memory\` needs a service with \`Delegate=yes\``)
    : ok('limits', `${detail}, and memory by a control group`)
}
