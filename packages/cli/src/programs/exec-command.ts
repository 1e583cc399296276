import type { Command } from 'commander'
import { EXIT } from '../exit-code.ts'
import { askAgent } from '../machine/agent.ts'
import type { RunContext } from '../run-context.ts'
import { count } from '../terminal/count.ts'
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
Signals are passed on. When the proxy denied a request meanwhile, a line on standard error says so;
the count includes other programs of this machine.

Exit codes: the command's own, 126 it cannot be run, 127 it is not found, 128 + n ended by signal n;
            1 the agent did not answer, and the command was not run

Examples:
  palisade exec -- npm install
  palisade exec -- git clone https://example.com/project.git`,
    )
    .action(async ([name = '', ...args]: string[], { java }: { readonly java?: true }) => {
      const { io } = context
      const before = await askAgent(io, EXIT.failed, (agent) => agent.status())
      const { proxy } = before
      const own = withoutNpmScript(io.env)
      const env = changeEnvironment(
        own,
        proxyEnvironment({ proxy, env: own, self: io.self, java: java === true }),
      )
      const end = await io.runProgram([name, ...args], env)
      context.exit(exitCodeOf(end))
      if (end.kind === 'not_started') io.stderr.write(describeFailure(name, end))
      const denied = await countDenied(context).catch(() => 0)
      const more = denied - before.decisions.denied
      if (more > 0)
        io.stderr.write(
          `palisade: ${count(more, 'request')} denied meanwhile; run \`palisade why\`\n`,
        )
    })
}

async function countDenied({ io }: RunContext): Promise<number> {
  const { decisions } = await askAgent(io, EXIT.failed, (agent) => agent.status())
  return decisions.denied
}

function describeFailure(name: string, end: Extract<ProgramEnd, { kind: 'not_started' }>): string {
  const why = exitCodeOf(end) === 127 ? 'no such command' : `it cannot be run (${end.code})`
  return `${printable(`palisade: \`${name}\`: ${why}`)}\n`
}
