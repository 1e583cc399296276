import { agentSocketPath } from '@palisade/client'
import type { AgentStatus } from '@palisade/protocol'
import { join } from 'node:path'
import type { Command } from 'commander'
import { lstat } from 'node:fs/promises'
import { askAgent } from '../agent/ask-agent.ts'
import { dataDirectory, enrolmentPath } from '../agent/start-advice.ts'
import { changeEnvironment } from '../proxied-programs/env-command.ts'
import { proxyEnvironment } from '../proxied-programs/proxy-environment.ts'
import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { withoutNpmScript } from '../runtime/programs/npm-script.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { describeSystemError } from '../runtime/system-error.ts'
import { VERSION } from '../runtime/version.ts'
import { tellSteps } from '../runtime/waiting.ts'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'
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
      const checks = await tellSteps(context.io, (step) => runChecks(context, step))
      const isWell = checks.every(({ outcome }) => outcome !== 'fail')
      if (!isWell) context.exit(EXIT.failed)
      await present(context, json, { ok: isWell, checks }, () =>
        formatChecks(checks, context.style),
      )
    })
}

async function runChecks(
  { io }: RunContext,
  step: (words: string) => void,
): Promise<readonly Check[]> {
  step('checking the agent …')
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
  const checks: Check[] = [
    ok('agent', 'is running'),
    status.users === 'all'
      ? ok('socket', 'serves all users, whom the agent tells apart')
      : await checkSocket(agentSocketPath(dataDirectory(io), io.env)),
    ...checkAgent(status, { version: VERSION, nowMs: io.now(), enrolment: enrolmentPath(io) }),
  ]
  step('checking the proxy …')
  checks.push(await checkProxy(proxy))
  step('checking the decision records …')
  checks.push(...(await checkRecords(io)))
  step('checking the sandbox …')
  const directory = join(dataDirectory(io), 'agent')
  checks.push(
    ...(await checkSandbox({ ...io, directory, readSetting: readKernelSetting })),
    await checkLimits(io),
    ...checkShell(own, proxy),
  )
  const tell = (program: string): void => step(`checking ${program} …`)
  return [...checks, ...(await checkPrograms(io.captureProgram, env, tell))]
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
