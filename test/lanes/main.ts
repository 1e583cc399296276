// The entry of `npm test` and `npm run test:full`: runs a lane of tests in a directory of its own
// and leaves nothing behind, however the run ends.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { areRepeated, readFailedFiles, type FailedFile } from './failed-files.ts'
import { areOfFullLane } from './full-lane-paths.ts'
import { testsOfMissing } from './missing-tests.ts'
import { projectsOf, readLaneOptions, USAGE, type Lane, type LaneOptions } from './options.ts'
import { missingPrograms, packagesOf } from './programs.mjs'
import { createRunDirectory, removeRun } from './run-directory.ts'
import { leaveOut } from './run-environment.ts'
import { fullSize, isFullRun, seedOfRun } from './run-size.ts'
import { hangingTests, noteRunningTest } from './running-tests.ts'

const ROOT = join(import.meta.dirname, '../..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

/** Of the fast lane. A test that waits for something ends by itself, after 60 s. */
const HANGING_MS = 70_000
/** For vitest to end by itself after an interruption. */
const END_WITHIN_MS = 3_000

function tell(line: string): void {
  process.stderr.write(`palisade: ${line}\n`)
}

/** Returns the files that cannot run and are left out, or null when the lane must not run. */
function requirePrograms(options: LaneOptions): readonly string[] | null {
  const missing = missingPrograms()
  if (missing.length === 0) return []
  tell(`not installed: ${missing.join(', ')}`)
  if (!options.withoutMissing) {
    tell(`install them: apt-get install ${packagesOf(missing).join(' ')}`)
    tell('or leave their tests out: npm run test:full -- --without-missing')
    return null
  }
  const { files, tests } = testsOfMissing(ROOT, missing)
  tell(`leaves out ${tests} tests in ${files.length} files, which need them`)
  return files
}

interface Run {
  readonly lane: Lane
  /** Of vitest. */
  readonly args: readonly string[]
  readonly watch: boolean
  readonly leftOut: readonly string[]
  readonly seed: number
}

interface Outcome {
  readonly code: number
  readonly failed: readonly FailedFile[]
}

/** Runs vitest in a directory of its own. */
async function run({ lane, args, watch, leftOut, seed }: Run): Promise<Outcome> {
  const directory = createRunDirectory()
  noteRunningTest(directory, 'none', '')
  const env = {
    ...process.env,
    ...(lane === 'full' ? fullSize() : {}),
    ...leaveOut(leftOut),
    TMPDIR: directory,
    PALISADE_SEED: String(seed),
    PALISADE_TEST_RUN: directory,
  }
  const child = spawn(process.execPath, [VITEST, watch ? 'watch' : 'run', ...args], {
    cwd: ROOT,
    env,
    stdio: 'inherit',
  })
  const { promise, resolve } = Promise.withResolvers<number>()
  child.once('error', () => resolve(1))
  child.once('exit', (code) => resolve(code ?? 1))
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ] as const)
    process.on(signal, () => {
      child.kill(signal)
      setTimeout(() => resolve(128 + number), END_WITHIN_MS)
    })
  const watchdog = setInterval(() => {
    const [name] = lane === 'fast' && !isFullRun() ? hangingTests(directory, HANGING_MS) : []
    if (name === undefined) return
    tell(`does not end: ${name}`)
    resolve(1)
  }, 1_000)
  try {
    const code = await promise
    return { code, failed: readFailedFiles(directory) }
  } finally {
    clearInterval(watchdog)
    removeRun(directory)
  }
}

async function main([lane, ...args]: readonly string[]): Promise<number> {
  if (lane !== 'fast' && lane !== 'full') throw new Error(`no lane: ${lane}`)
  const options = readLaneOptions(args)
  if (options.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const paths = options.rest.filter((each) => each.startsWith('test/'))
  if (lane === 'fast' && areOfFullLane(ROOT, paths)) {
    tell(`these tests start programs: npm run test:full -- ${paths.join(' ')}`)
    return 1
  }
  const leftOut = lane === 'full' ? requirePrograms(options) : []
  if (leftOut === null) return 1
  const projects = projectsOf(lane, options).flatMap((name) => ['--project', name])
  const whole: Omit<Run, 'args'> = { lane, watch: options.watch, leftOut, seed: seedOfRun() }
  const { code, failed } = await run({ ...whole, args: [...projects, ...options.rest] })
  return code === 1 && areRepeated(failed) ? runAgain(whole, failed) : code
}

/** Runs files that failed beside others once more, alone. Returns the exit code. */
async function runAgain(whole: Omit<Run, 'args'>, failed: readonly FailedFile[]): Promise<number> {
  const files = failed.map(({ path }) => path)
  tell(`runs again, alone and with the same seed: ${files.join(' ')}`)
  const projects = failed.flatMap(({ project }) => ['--project', project])
  const { code } = await run({ ...whole, args: [...projects, '--no-file-parallelism', ...files] })
  if (code === 0) tell(`UNSTEADY: failed beside other tests, passed alone: ${files.join(' ')}`)
  return code
}

process.exit(await main(process.argv.slice(2)))
