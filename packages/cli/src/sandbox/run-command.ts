import type { Command } from 'commander'
import { usageError } from '../runtime/cli-error.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { runInSandbox } from './run-in-sandbox.ts'
import type { RunRequest } from './run-request.ts'

interface Options {
  readonly workspace: readonly string[]
  readonly env: readonly string[]
  readonly limit: readonly string[]
  readonly publish: readonly string[]
  /** `true` without a name. */
  readonly profile?: string | true
  readonly strict?: true
  readonly apply?: true
}

/** `palisade run` */
export function addRunCommand(program: Command, context: RunContext): void {
  program
    .command('run')
    .summary('run one command in a sandbox')
    .description(
      'Run one command so that it reaches only what the policy allows: it has no network but ' +
        'through the agent, and sees only the workspaces and the programs of the system.',
    )
    .argument('[command...]', 'command and its arguments, after `--`')
    .option(
      '-w, --workspace <path[:ro|:rw]>',
      'directory that the command sees, may be repeated (default: the working directory)',
      collect,
      [],
    )
    .option(
      '-e, --env <name[=value]>',
      'variable that the command gets beside those of the terminal, may be repeated',
      collect,
      [],
    )
    .option(
      '--limit <name=value,…>',
      'limit of processes, memory, process-memory, tmp or files, may be repeated',
      collect,
      [],
    )
    .option(
      '-p, --publish <[host-port:]port>',
      'port of the command that programs of this machine reach on 127.0.0.1, may be repeated',
      collect,
      [],
    )
    .option('--profile [name]', 'options of the project, from its .palisade.yaml')
    .option('--strict', 'keep the changes apart, and copy out only those that policy grants')
    .option('--apply', 'with `--strict`, copy them out without a question')
    .addHelpText('after', HELP)
    .action(async (words: string[], { apply, profile, strict, ...options }: Options) => {
      if (apply === true && strict !== true) throw usageError('`--apply` needs `--strict`; add it')
      const [name, ...args] = words
      const request: RunRequest = {
        ...options,
        command: name === undefined ? null : [name, ...args],
        profile: profile === true ? '' : (profile ?? null),
        strict: strict === true ? { apply: apply === true } : null,
      }
      const code = await runInSandbox(request, context.io)
      context.exit(code)
    })
}

const HELP = `
A workspace is judged by its real path: \`ro\` needs \`read\` on all in it, such as \`allow read
/work/**\`; \`rw\`, the default, needs \`write\` too. Denied paths in it are hidden or read-only,
also those that come later. The home directory and /tmp are empty and end with the command. Every
connection is decided by the policy and recorded, whether or not the command uses the proxy;
\`palisade log\` lists them. At the end a line on standard error names the targets that were denied.

\`EPERM\` or "Operation not permitted" from \`listen\` or \`socket\` is the refusal of Unix
sockets, which is not recorded: \`node --import tsx\` works in place of \`tsx\`, and the start
method \`spawn\` in place of \`forkserver\` of Python's multiprocessing.

Limits: \`processes\` at once (default 4096), \`memory\` of all together, \`process-memory\` of
each, size of each private directory (\`tmp\`, default 1G), open \`files\` of each process
(default 65536).

A published port is open to every program and user of this machine, on its loopback alone. A rule
that denies \`connect:tcp\` to \`127.0.0.1\` refuses it.

A profile adds workspaces, variables, limits, published ports and a command from the nearest
.palisade.yaml of the repository. It opens nothing that policy does not. \`--profile\` alone lists
the profiles.

With \`--strict\` a denied name is never visible, and the command changes a copy. At the end the
changes are listed, and each that policy grants is copied out, after a question or with \`--apply\`.
Others stay for two weeks: see \`palisade staged --help\`.

Exit codes: the command's own, 125 no sandbox could be made, 126 it cannot be run, 127 it is not
            found, 128 + n ended by signal n; 125 also if a granted change was not copied out

Examples:
  palisade run -- npm install
  palisade run --workspace . --workspace ~/reference:ro -- make
  palisade run --limit processes=200,tmp=256M -- make -j4
  palisade run --publish 3000:8000 -- python3 -m http.server 8000
  palisade run --profile npm
  palisade run --profile claude -- claude --continue
  palisade run --strict --apply -- make dist
  palisade run --env ANTHROPIC_API_KEY -- claude`

function collect(value: string, former: readonly string[]): readonly string[] {
  return [...former, value]
}
