#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Agent } from './agent.ts'
import { requireNode } from './host/config/require-node.ts'
import { AgentError } from './host/errors.ts'
import { addServiceCommands } from './service/service-commands.ts'
import { startAgent } from './start-agent.ts'
import { agentVersion } from './host/version.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2
const EXIT_CONFIG = 78
/** Longer than any close takes; afterwards the process exits anyway. */
const STOP_TIMEOUT_MS = 5_000

const HELP = `
Environment:
  PALISADE_DATA_DIR        where the agent keeps its files, in DIR/agent (default .palisade)
  PALISADE_ENROLMENT       enrolment file of this machine, mode 0600, with its key beside it in
                           FILE.key (default DIR/agent/enrolment.json)
  PALISADE_ENROLMENT_TOKEN file with an enrolment token, mode 0600, used while not enrolled
  PALISADE_AGENT_SOCKET    Unix socket of the local API (default DIR/agent/agent.sock)
  PALISADE_USERS           all to serve every user of the machine: they may read, only the user of
                           the agent may change, and it makes no sandboxes (default own)
  PALISADE_PROXY_PORT      port of the proxy on 127.0.0.1; 0 for any free one (default 8421)
  PALISADE_DNS_SERVERS     resolvers, as ip or ip:port (default: the system's)
  PALISADE_PARENT_PROXY    http://host:port or https://host:port of the network's proxy, through
                           which allowed connections go (default: they are dialled directly)
  PALISADE_PARENT_PROXY_CREDENTIALS
                           file with its user:password, mode 0600
  PALISADE_PARENT_CA       PEM file with the authority of an https parent (default: the usual ones)
  PALISADE_PARENT_NO_PROXY names, addresses and ranges to dial directly, such as
                           .corp.example,10.0.0.0/8; the policy applies to them too
  PALISADE_PARENT_RESOLVES yes to let the parent resolve names; rules on addresses then do not
                           apply to names (default no)
  PALISADE_LOCAL_POLICIES  file with your own rules, a list \`local\` in YAML or JSON; denies only
  PALISADE_SYNC_SCHEDULE   cron expression (default */5 * * * *)
  PALISADE_HINTS           on, or off to learn of changes only by the schedule (default on)
  PALISADE_LOG_LEVEL       fatal, error, warn, info, debug, trace, silent (default info)
  The agent connects to its server directly and ignores HTTP_PROXY and the like.

Exit status:
  0 after a signal, 1 when another start may succeed, 2 bad usage, 78 when a setting has to change

Examples:
  palisade-agent start
  PALISADE_PROXY_PORT=0 PALISADE_DATA_DIR=/var/lib/palisade palisade-agent start
  curl --proxy http://127.0.0.1:8421 http://example.com/
`

async function start(): Promise<void> {
  requireNode(process.versions.node)
  let agent: Agent | null = null
  let stopping = false
  const stop = new AbortController()
  const onSignal = (): void => {
    if (stopping) return
    stopping = true
    stop.abort()
    setTimeout(() => process.exit(EXIT_FAILED), STOP_TIMEOUT_MS).unref()
    // Without an agent yet, `start` continues and checks `stopping` itself.
    if (agent !== null) void finish(agent)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const started = await startAgent(process.env, process.cwd(), stop.signal)
  if (started === null) process.exit(0)
  agent = started
  if (stopping) await finish(started)
}

async function finish(agent: Agent): Promise<void> {
  await agent.stop()
  process.exit(0)
}

/** Prints one line for each problem. A bug gets a report id, and its stack only with `--debug`. */
function fail(error: unknown): never {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE)
  if (error instanceof AgentError) {
    for (const problem of error.problems)
      process.stderr.write(`palisade-agent: ${toLine(problem)}\n`)
    process.exit(error.isTransient ? EXIT_FAILED : EXIT_CONFIG)
  }
  const id = randomUUID()
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(
    `palisade-agent: internal error: ${JSON.stringify(message)} (report ${id})\n`,
  )
  if (process.argv.includes('--debug') && error instanceof Error)
    process.stderr.write(`${error.stack ?? ''}\n`)
  process.exit(EXIT_FAILED)
}

/** Text from a file or variable must not control the terminal, nor pass for a line of the agent. */
function toLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

process.on('uncaughtException', fail)
// With NODE_USE_ENV_PROXY Node would ask the server through the proxy configured for programs,
// which is our own and denies everything before the first policy.
process.env['no_proxy'] = '*'
const program = new Command('palisade-agent')
  .description('Fetches the policy of this machine and enforces it')
  .version(agentVersion())
  .option('--debug', 'print the stack of an internal error')
  .addHelpText('after', HELP)
  .exitOverride()
  .configureOutput({ outputError: (text, print) => print(text.replaceAll("'", '`')) })
program
  .command('start')
  .description('run the agent until SIGTERM or SIGINT')
  .option('--debug', 'print the stack of an internal error')
  .addHelpText('after', HELP)
  .action(start)
addServiceCommands(program, {
  env: process.env,
  cwd: process.cwd(),
  /** Throws for a user without `HOME` and without an entry in /etc/passwd. */
  get home() {
    return homedir()
  },
  uid: process.getuid?.() ?? -1,
  isSystemdRunning: existsSync('/run/systemd/system'),
  command: [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'start'],
  print: (text) => void process.stdout.write(text),
})
program
  .command('version')
  .description('print the version')
  .action(() => {
    process.stdout.write(`${agentVersion()}\n`)
  })
// Not awaited: this file is bundled as CommonJS, which has no top-level `await`.
void program.parseAsync().catch(fail)
