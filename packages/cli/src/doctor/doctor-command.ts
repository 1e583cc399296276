import { agentSocketPath } from '@palisade/client'
import type { AgentStatus } from '@palisade/protocol'
import { join } from 'node:path'
import type { Command } from 'commander'
import { lstat } from 'node:fs/promises'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { askAgent } from '../machine/agent.ts'
import { dataDirectory, enrolmentPath } from '../machine/start-advice.ts'
import { changeEnvironment } from '../programs/env-command.ts'
import { withoutNpmScript } from '../programs/npm-script.ts'
import { proxyEnvironment } from '../programs/proxy-environment.ts'
import { present, type RunContext } from '../run-context.ts'
import { describeSystemError } from '../system-error.ts'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'
import { VERSION } from '../version.ts'
import { checkAgent } from './agent-checks.ts'
import { fail, ok, type Check } from './check.ts'
import { checkLimits } from './limit-check.ts'
import { checkPrograms } from './program-checks.ts'
import { checkProxy } from './proxy-check.ts'
import { checkRecords } from './record-checks.ts'
import { checkSandbox, readKernelSetting } from './sandbox-checks.ts'
import { checkShell } from './shell-checks.ts'

/** `palisade doctor` */
export function addDoctorCommand(program: Command, context: RunContext): void {
  program
    .command('doctor')
    .summary('check that this machine enforces its policies')
    .description(
      'Check the agent, its policies, proxy and records, the parts of a sandbox, the variables ' +
        'of this shell, and that curl, wget, git, npm, pip and node use the proxy. Each program ' +
        'asks once for a name that every agent denies; no connection leaves the machine.',
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 no check failed, 1 one did

Examples:
  palisade doctor
  palisade doctor --json`,
    )
    .action(async ({ json }: { readonly json?: true }) => {
      const checks = await runChecks(context)
      const isWell = checks.every(({ outcome }) => outcome !== 'fail')
      if (!isWell) context.exit(EXIT.failed)
      await present(context, json, { ok: isWell, checks }, () =>
        formatChecks(checks, context.style),
      )
    })
}

async function runChecks({ io }: RunContext): Promise<readonly Check[]> {
  let status: AgentStatus
  try {
    status = await askAgent(io, EXIT.failed, (agent) => agent.status())
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const [detail = '', ...mend] = error.message.split('; ')
    return [fail('agent', detail, mend.join('; ') || 'run `palisade status`')]
  }
  const { proxy } = status
  const own = withoutNpmScript(io.env)
  const env = changeEnvironment(
    own,
    proxyEnvironment({ proxy, env: own, self: io.self, java: false }),
  )
  const tell = (program: string): void => {
    if (io.progress) io.stderr.write(`checking ${program} …\n`)
  }
  return [
    ok('agent', 'is running'),
    status.users === 'all'
      ? ok('socket', 'serves all users, whom the agent tells apart')
      : await checkSocket(agentSocketPath(dataDirectory(io), io.env)),
    ...checkAgent(status, { version: VERSION, nowMs: io.now(), enrolment: enrolmentPath(io) }),
    await checkProxy(proxy),
    ...(await checkRecords(io)),
    ...(await checkSandbox({
      ...io,
      directory: join(dataDirectory(io), 'agent'),
      readSetting: readKernelSetting,
    })),
    await checkLimits(io),
    ...checkShell(own, proxy),
    ...(await checkPrograms(io.captureProgram, env, tell)),
  ]
}

/** Programs of other users must not reach the local API. */
async function checkSocket(path: string): Promise<Check> {
  const mend = `stop the agent, remove \`${path}\`, and start the agent again`
  try {
    const { mode } = await lstat(path)
    return (mode & 0o077) === 0
      ? ok('socket', 'is closed to other users')
      : fail('socket', `\`${path}\` is open to other users`, mend)
  } catch (error) {
    return fail('socket', `\`${path}\`: ${describeSystemError(error)}`, mend)
  }
}

/** One line for each check, its mend below it, and a sum. */
export function formatChecks(checks: readonly Check[], style: Style): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  const emphasis = { ok: style.good, warn: style.warning, fail: style.bad, skip: style.quiet }
  const lines = checks.flatMap(({ name, outcome, detail, mend }) => [
    `${emphasis[outcome](outcome.padEnd(4))}  ${name.padEnd(width)}  ${style.plain(detail)}`,
    ...(mend === null ? [] : [`${' '.repeat(width + 8)}${style.quiet(`mend: ${mend}`)}`]),
  ])
  const of = (outcome: Check['outcome']): number =>
    checks.filter((check) => check.outcome === outcome).length
  const sum = `${count(of('fail'), 'check')} failed, ${count(of('warn'), 'warning')}`
  return [...lines, sum, ''].join('\n')
}
