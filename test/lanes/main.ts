// The entry of `npm test` and `npm run test:full`: runs a lane of tests in a directory of its own
// and leaves nothing behind, however the run ends.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { areOfFullLane } from './full-lane-paths.ts'
import { testsOfMissing } from './missing-tests.ts'
import { projectsOf, readLaneOptions, USAGE, type Lane, type LaneOptions } from './options.ts'
import { missingPrograms, packagesOf } from './programs.mjs'
import { createRunDirectory, removeRun } from './run-directory.ts'
import { leaveOut } from './run-environment.ts'
import { fullSize, isFullRun } from './run-size.ts'
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

/** Runs vitest and resolves to its exit code. */
async function run(
  lane: Lane,
  args: readonly string[],
  { watch, leftOut }: { readonly watch: boolean; readonly leftOut: readonly string[] },
): Promise<number> {
  const directory = createRunDirectory()
  noteRunningTest(directory, 'none', '')
  const env = {
    ...process.env,
    ...(lane === 'full' ? fullSize() : {}),
    ...leaveOut(leftOut),
    TMPDIR: directory,
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
    return await promise
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
  return run(lane, [...projects, ...options.rest], { watch: options.watch, leftOut })
}

process.exit(await main(process.argv.slice(2)))
