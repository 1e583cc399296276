import type { Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { formatStatus } from './format-status.ts'

/** `palisade status` */
export function addStatusCommand(program: Command, context: RunContext): void {
  program
    .command('status')
    .summary('show what this machine enforces')
    .description('Show which policies the agent of this machine enforces and how fresh they are.')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 the agent answered, 1 it did not

Examples:
  palisade status
  palisade status --json`,
    )
    .action(async (options: { readonly json?: true }) => {
      const { io, style } = context
      const status = await askAgent(io, EXIT.failed, (agent) => agent.status())
      await present(context, options.json, status, () =>
        formatStatus(status, { hostName: io.hostName, nowMs: io.now() }, style),
      )
    })
}
