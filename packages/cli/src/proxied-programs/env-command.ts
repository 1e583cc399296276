import type { Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { quoteShell } from '../terminal/quote-shell.ts'
import { proxyEnvironment, withoutProxyEnvironment, type Changes } from './proxy-environment.ts'

interface EnvOptions {
  readonly unset?: true
  readonly java?: true
  readonly json?: true
}

/** `palisade env` */
export function addEnvCommand(program: Command, context: RunContext): void {
  program
    .command('env')
    .summary('print variables that lead programs of a shell to the proxy')
    .description(
      'Print commands for a POSIX shell that set the variables with which programs use the proxy ' +
        'of this machine: curl, wget, git, ssh through git, npm, yarn, pip, cargo, Node, Python ' +
        'and Go.',
    )
    .option('--unset', 'print commands that undo it; works without an agent')
    .option('--java', 'also set JAVA_TOOL_OPTIONS, of which every JVM prints a line')
    .option('--json', 'print one JSON object; null stands for a variable to unset')
    .addHelpText(
      'after',
      `
Only loopback bypasses the proxy: \`NO_PROXY\` is replaced. Nothing here confines a program that
ignores these variables.

Exit codes: 0 printed, 1 the agent did not answer

Examples:
  eval "$(palisade env)"
  eval "$(palisade env --unset)"`,
    )
    .action(async (options: EnvOptions) => {
      const { io } = context
      const changes =
        options.unset === true
          ? withoutProxyEnvironment(io.env)
          : proxyEnvironment({
              proxy: await findProxy(context),
              env: io.env,
              self: io.self,
              java: options.java === true,
            })
      if (options.json === true) await present(context, true, Object.fromEntries(changes), () => '')
      else await write(io.stdout, formatChanges(changes))
    })
}

/** The URL of the proxy, as the agent names it. */
export async function findProxy({ io }: Pick<RunContext, 'io'>): Promise<string> {
  const { proxy } = await askAgent(io, EXIT.failed, (agent) => agent.status())
  return proxy
}

/** The environment after the changes. */
export function changeEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  changes: Changes,
): Record<string, string> {
  const changed = new Map(Object.entries(env))
  for (const [name, value] of changes) changed.set(name, value ?? undefined)
  return Object.fromEntries([...changed].flatMap(([name, value]) => toEntry(name, value)))
}

function toEntry(name: string, value: string | undefined): readonly [string, string][] {
  return value === undefined ? [] : [[name, value]]
}

/** The commands run in the user's shell, so each value is one quoted word. */
function formatChanges(changes: Changes): string {
  return [...changes]
    .map(([name, value]) =>
      value === null ? `unset ${name}\n` : `export ${name}=${quoteShell(value)}\n`,
    )
    .join('')
}
