import { PROBE_NAMES } from '@palisade/protocol'
import type { Captured, CaptureProgram } from '../runtime/programs/capture-program.ts'
import { fail, ok, skip, type Check } from './check.ts'

/** Includes the start of the program on a busy machine. */
const TIMEOUT_MS = 30_000

interface Trial {
  readonly program: string
  /** Asks for the refused canary once. */
  readonly args: readonly string[]
  readonly mend: string
}

const CANARY = `http://${PROBE_NAMES.refused}/`

const TRIALS: readonly Trial[] = [
  {
    program: 'curl',
    args: ['-sS', '--max-time', '20', '-i', CANARY],
    mend: 'look for `proxy` or `noproxy` in ~/.curlrc',
  },
  {
    program: 'wget',
    args: ['-S', '-O', '/dev/null', '--tries=1', '--timeout=20', CANARY],
    mend: 'look for `use_proxy` or `http_proxy` in ~/.wgetrc and /etc/wgetrc',
  },
  {
    program: 'git',
    args: ['ls-remote', `${CANARY}project.git`],
    mend: 'look for `http.<url>.proxy` in `git config --list --show-origin`',
  },
  {
    program: 'npm',
    args: ['ping', `--registry=${CANARY}`, '--fetch-retries=0', '--no-update-notifier'],
    mend: 'look for `proxy` and `noproxy` in `npm config list`',
  },
  {
    program: 'pip',
    args: [
      'download',
      '--retries=0',
      '--no-deps',
      '--disable-pip-version-check',
      '--no-input',
      '--dest=/nonexistent',
      // A file by its address: of an index that cannot be read, pip does not tell why.
      `${CANARY}palisade_probe-1.tar.gz`,
    ],
    mend: 'look for `proxy` in `pip config list`',
  },
  {
    program: 'node',
    args: ['-e', `fetch('${CANARY}').then((answer) => console.log(answer.status))`],
    mend: 'use Node 22.21, 24.5 or newer, which read NODE_USE_ENV_PROXY',
  },
]

/**
 * Lets each installed program ask for the refused canary, one after the other. A program that
 * ignores the variables finds no such name, and its request ends with that query.
 */
export async function checkPrograms(
  capture: CaptureProgram,
  env: Readonly<Record<string, string>>,
  onTrial: (program: string) => void,
): Promise<readonly Check[]> {
  const checks: Check[] = []
  for (const trial of TRIALS) {
    onTrial(trial.program)
    const command = [trial.program, ...trial.args] as const
    // Git must not ask a person for a password.
    const captured = await capture(command, { ...env, GIT_TERMINAL_PROMPT: '0' }, TIMEOUT_MS)
    checks.push(checkTrial(trial, captured))
  }
  return checks
}

function checkTrial({ program, mend }: Trial, captured: Captured): Check {
  const name = `program:${program}`
  switch (captured.kind) {
    case 'missing':
      return skip(name, 'not installed')
    case 'timeout':
      return fail(name, `did not end within ${TIMEOUT_MS / 1000} s`, mend)
    case 'ended':
      return /\b403\b/.test(captured.output)
        ? ok(name, 'uses the proxy and is refused as it should be')
        : fail(name, `was not refused: ${lastLine(captured.output)}`, mend)
  }
}

function lastLine(output: string): string {
  const line = output.trim().split('\n').at(-1)?.trim() ?? ''
  return line === '' ? 'it says nothing' : line.slice(0, 160)
}
