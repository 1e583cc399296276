import type { Command } from 'commander'
import { hookProgram } from '../agent/start-advice.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { HOOK_FORMATS } from './formats/hook-formats.ts'
import { runHook } from './run-hook.ts'

/** `palisade hook` */
export function addHookCommand(program: Command, context: RunContext): void {
  const { io } = context
  program
    .command('hook')
    .summary('decide the tool calls of a coding agent')
    .description(
      'Read a tool call from standard input and answer it in the form of the coding agent.',
    )
    .argument('<host>', HOOK_FORMATS.map(({ host }) => host).join(', '))
    .addHelpText('after', ({ command }) => helpOf(command.args, io))
    .action(async (host: string) => {
      context.exit(await runHook(host, io))
    })
}

/** The rules of all hosts, or the configuration of the one that is named. */
function helpOf([host]: readonly string[], io: RunContext['io']): string {
  const named = HOOK_FORMATS.find((each) => each.host === host)
  return named === undefined ? `${RULES}\n${HOSTS}\n${EXAMPLES}` : install(named, io)
}

const HOSTS = [
  '\nHosts, each with its configuration in the help:',
  ...HOOK_FORMATS.map(({ host, title }) => `  palisade hook ${host} --help`.padEnd(34) + title),
].join('\n')

const RULES = `
A call that names files or web addresses is denied unless the policy allows all of them; a path is
decided as written and as its symbolic links lead. Every other call passes without an opinion:
Palisade reads no shell commands. The proxy and the sandbox govern those. A search is decided by the
directory in which it starts. An allowed call still needs the permission of the coding agent itself.
Input that is not understood is denied, and so is every decided call while no agent runs.`

const EXAMPLES = `
Examples:
  echo '{"hook_event_name":"PreToolUse","cwd":"/tmp","tool_name":"Read",
         "tool_input":{"file_path":"/etc/passwd"}}' | palisade hook claude`

function install(
  { host, title, file, snippet, decided }: (typeof HOOK_FORMATS)[number],
  io: RunContext['io'],
): string {
  return `
${title}: decides ${decided}.

Write to this file:
  ${file}

${snippet(`${hookProgram(io)} hook ${host}`)}
`
}
