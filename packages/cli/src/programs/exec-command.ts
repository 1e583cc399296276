import { createDeniedTargets } from '@palisade/client'
import { isOrganizationDenial } from '@palisade/protocol'
import type { Command } from 'commander'
import { EXIT } from '../exit-code.ts'
import { askAgent } from '../machine/agent.ts'
import { findDenialsAfter, findNewestPlace, type RecordPlace } from '../machine/denials.ts'
import type { RunContext } from '../run-context.ts'
import { printable } from '../terminal/printable.ts'
import { changeEnvironment } from './env-command.ts'
import { withoutNpmScript } from './npm-script.ts'
import { proxyEnvironment } from './proxy-environment.ts'
import { exitCodeOf, type ProgramEnd } from './run-program.ts'

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
      const before = await askAgent(io, EXIT.failed, findNewestPlace).catch(() => undefined)
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
  before: RecordPlace | null,
  support: string | undefined,
): Promise<readonly string[]> {
  const targets = createDeniedTargets()
  const denials = await askAgent(io, EXIT.failed, (agent) => findDenialsAfter(agent, before))
  for (const { decision, count } of denials) targets.add(decision, count)
  const line = targets.line()
  if (line === null) return []
  const isOfOrganization = denials.some(({ decision }) => isOrganizationDenial(decision))
  return support !== undefined && isOfOrganization ? [line, support] : [line]
}

function describeFailure(name: string, end: Extract<ProgramEnd, { kind: 'not_started' }>): string {
  const why = exitCodeOf(end) === 127 ? 'no such command' : `it cannot be run (${end.code})`
  return `${printable(`palisade: \`${name}\`: ${why}`)}\n`
}
