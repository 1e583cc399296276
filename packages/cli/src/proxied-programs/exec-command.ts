import { createDeniedTargets } from '@palisade/client'
import type { Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { findDenialsAfter, findNewestPosition, type LogPosition } from '../agent/denials.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { withoutNpmScript } from '../runtime/programs/npm-script.ts'
import { exitCodeOf, type ProgramEnd } from '../runtime/programs/run-program.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { printable } from '../terminal/printable.ts'
import { changeEnvironment } from './env-command.ts'
import { proxyEnvironment } from './proxy-environment.ts'

/** `palisade exec` */
export function addExecCommand(program: Command, context: RunContext): void {
  program
    .command('exec')
    .summary('run one command through the proxy')
    .description('Run one command with the variables of `palisade env`.')
    .argument('<command...>', 'command and its arguments, after `--`')
    .option('--java', 'also set JAVA_TOOL_OPTIONS, of which every JVM prints a line')
    .addHelpText(
      'after',
      `
Signals are passed on. When requests were denied meanwhile, a line on standard error names their
targets, also those of other programs of this machine, and the command that asks for access.

Exit codes: the command's own, 126 it cannot be run, 127 it is not found, 128 + n ended by signal n;
            1 the agent did not answer, and the command was not run

Examples:
  palisade exec -- npm install
  palisade exec -- git clone https://example.com/project.git`,
    )
    .action(async ([name = '', ...args]: string[], { java }: { readonly java?: true }) => {
      const { io } = context
      const status = await askAgent(io, EXIT.failed, (agent) => agent.status())
      const { proxy, support_message } = status
      const own = withoutNpmScript(io.env)
      const env = changeEnvironment(
        own,
        proxyEnvironment({ proxy, env: own, self: io.self, java: java === true }),
      )
      // Other users of the machine may not read the records.
      const before = await askAgent(io, EXIT.failed, findNewestPosition).catch(() => undefined)
      const end = await io.runProgram([name, ...args], env)
      context.exit(exitCodeOf(end))
      if (end.kind === 'not_started') io.stderr.write(describeFailure(name, end))
      if (before === undefined) return
      const told = await describeDenied(context, before, support_message).catch(() => [])
      for (const line of told) io.stderr.write(`${printable(`palisade: ${line}`)}\n`)
    })
}

async function describeDenied(
  { io }: RunContext,
  before: LogPosition | null,
  support: string | undefined,
): Promise<readonly string[]> {
  const targets = createDeniedTargets()
  const denials = await askAgent(io, EXIT.failed, (agent) => findDenialsAfter(agent, before))
  for (const { decision, count } of denials) targets.add(decision, count)
  return targets.lines(support)
}

function describeFailure(name: string, end: Extract<ProgramEnd, { kind: 'not_started' }>): string {
  const why = exitCodeOf(end) === 127 ? 'no such command' : `it cannot be run (${end.code})`
  return `${printable(`palisade: \`${name}\`: ${why}`)}\n`
}
