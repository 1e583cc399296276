import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { LaneReporter } from './test/lanes/lane-reporter.ts'
import { leftOutFiles, pathOfTests, seedRun } from './test/lanes/run-environment.ts'
import { fullSize, isFullRun } from './test/lanes/run-size.ts'

seedRun()

const PROCESS = 'test/**/*.process.test.ts'

interface Lane {
  readonly include: string
  readonly exclude?: string[]
  readonly fullSize: boolean
  readonly driver?: 'sqlite' | 'postgres'
  /** Ends what hangs. */
  readonly timeoutMs: number
  readonly setupFiles?: string[]
  /** Lanes of one turn run together. */
  readonly turn: number
  /** For each processor. */
  readonly workers: number
}

function project(name: string, lane: Lane): TestProjectInlineConfiguration {
  return {
    ssr: { resolve: { conditions: ['palisade-source'] } },
    resolve: { conditions: ['palisade-source'] },
    test: {
      name,
      include: [lane.include],
      exclude: [...configDefaults.exclude, ...(lane.exclude ?? [])],
      env: { ...(lane.fullSize ? fullSize() : {}), PATH: pathOfTests() },
      provide: { driver: lane.driver ?? 'sqlite' },
      testTimeout: lane.timeoutMs,
      hookTimeout: lane.timeoutMs,
      // The default is a second, in which a machine under load does not always come to its turn.
      expect: { poll: { timeout: lane.timeoutMs / 2 } },
      setupFiles: lane.setupFiles ?? [],
      globalSetup: name === 'fast' ? [] : ['test/server/postgres/global-setup.ts'],
      // No module keeps state (a rule of its own), so files share a worker: a fifth less time.
      isolate: false,
      // The output of a run fits on a screen.
      execArgv: ['--no-warnings'],
      fsModuleCache: true,
      sequence: { groupOrder: lane.turn },
      maxWorkers: Math.ceil(lane.workers * availableParallelism()),
    },
  }
}

const MINUTE_MS = 60_000

export default defineConfig({
  test: {
    projects: [
      project('fast', {
        include: 'test/**/*.test.ts',
        exclude: [PROCESS],
        fullSize: false,
        timeoutMs: isFullRun() ? 10 * MINUTE_MS : MINUTE_MS,
        setupFiles: ['test/lanes/fast-setup.ts'],
        turn: 1,
        // A worker that waits for the disk leaves its processor to another one.
        workers: 1.5,
      }),
      project('laws', {
        include: 'test/**/*.property.test.ts',
        fullSize: true,
        timeoutMs: 10 * MINUTE_MS,
        turn: 2,
        workers: 1,
      }),
      project('PostgreSQL', {
        include: 'test/**/*.store.test.ts',
        driver: 'postgres',
        fullSize: true,
        timeoutMs: 10 * MINUTE_MS,
        turn: 2,
        workers: 1,
      }),
      // Most of these wait for a process, a timer or a disk.
      project('process', {
        include: PROCESS,
        exclude: leftOutFiles(),
        fullSize: true,
        timeoutMs: 10 * MINUTE_MS,
        turn: 3,
        workers: 2,
      }),
    ],
    reporters: [new LaneReporter()],
    silent: 'passed-only',
    coverage: {
      provider: 'v8',
      include: ['packages/policy-core/src/**/*.ts', 'packages/policy-analysis/src/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: {
        'packages/policy-core/src/**': { lines: 98 },
        'packages/policy-analysis/src/**': { lines: 98 },
        'packages/policy-core/src/decision/decide.ts': { branches: 100 },
        'packages/policy-core/src/pattern/**': { branches: 100 },
      },
    },
  },
})
