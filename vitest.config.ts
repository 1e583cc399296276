import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { AreaReporter } from './test/area-reporter.ts'
import { fullSize } from './test/run-size.ts'

/**
 * Tests of the server that mean the same on every store; they run on PostgreSQL once more. Those
 * that take longest stay out: the time of a run is everybody's.
 */
const ON_EVERY_STORE = [
  'test/server/organizations/{admin,organization}-routes.test.ts',
  'test/server/organizations/{foreign-members,revocation}.test.ts',
  'test/server/identity/exchange-secret.test.ts',
  'test/server/contract/{bodies,check-order,idempotency,transport}.test.ts',
  'test/server/fleet/access/access-routes.test.ts',
  'test/server/fleet/rollout/{roll-back,rollout-watch}.test.ts',
  'test/server/governance/{policy,rule}-routes.test.ts',
  'test/server/governance/{check-order,limits,list-policies,policy-views,preconditions,what-if}.test.ts',
  'test/server/governance/compilation/path-cost-limit.test.ts',
  'test/server/governance/document/{apply,export,refused}-*.test.ts',
  'test/server/evidence/replay/replay-routes.test.ts',
  'test/server/history/prune-history.test.ts',
  'test/server/operations/storage/retention.test.ts',
  'test/server/http/input/read-page.test.ts',
  'test/server/identity/idempotency/answer-once.test.ts',
  'test/server/webhooks/list-deliveries.test.ts',
]

/**
 * Tests whose size `test/run-size.ts` sets: properties, kill cycles, loads, whole-store matrices.
 */
const LONG = [
  'test/**/*.property.test.ts',
  'test/policy-core/**/*.test.ts',
  'test/agent/sync/state/crash/*.test.ts',
  'test/agent/sync/trust/{attacks,view-marks}.test.ts',
  'test/cli/policy-source/export-directory.test.ts',
  'test/server/{kill,load,store}/**/*.test.ts',
  'test/server/contract/malformed.test.ts',
]

/** Every law of the store once more, which takes minutes; `all` has the laws on SQLite. */
const WHOLE_MATRIX = ['test/server/store/postgres-store.test.ts']

interface Selection {
  readonly include: string[]
  readonly exclude?: string[]
  readonly env?: Record<string, string>
}

function project(
  name: string,
  driver: 'sqlite' | 'postgres',
  { include, exclude = [], env = {} }: Selection,
): TestProjectInlineConfiguration {
  return {
    ssr: { resolve: { conditions: ['palisade-source'] } },
    resolve: { conditions: ['palisade-source'] },
    test: {
      name,
      include,
      exclude: [...configDefaults.exclude, ...exclude],
      env,
      provide: { driver },
      // Only to end what hangs: the longest takes 40 s, a shared machine ten times as long.
      testTimeout: 600_000,
      hookTimeout: 600_000,
      // The default is a second, in which a machine under load does not always come to its turn.
      expect: { poll: { timeout: 300_000 } },
      // Node strips types by WebAssembly. V8 frees its compiled calls of JavaScript while another
      // thread still uses them (`jit_page.has_value()`, SIGSEGV), so none is compiled.
      execArgv: ['--wasm-wrapper-tiering-budget=2000000000'],
      // No module keeps state (a rule of its own), so files share a worker: a fifth less time.
      isolate: false,
    },
  }
}

export default defineConfig({
  test: {
    projects: [
      project('all', 'sqlite', { include: ['test/**/*.test.ts'], exclude: WHOLE_MATRIX }),
      project('long', 'sqlite', { include: LONG, env: fullSize() }),
      project('on PostgreSQL', 'postgres', { include: ON_EVERY_STORE, env: fullSize() }),
    ],
    reporters: ['default', new AreaReporter()],
    // Many tests wait for a process, a timer or a disk. `200%` would be no more than `100%`.
    maxWorkers: 2 * availableParallelism(),
    globalSetup: ['test/server/postgres/global-setup.ts'],
    coverage: {
      provider: 'v8',
      include: ['packages/policy-core/src/**/*.ts'],
      reporter: ['text', 'json-summary'],
      thresholds: {
        'packages/policy-core/src/**': { lines: 98 },
        'packages/policy-core/src/decision/decide.ts': { branches: 100 },
        'packages/policy-core/src/pattern/**': { branches: 100 },
      },
    },
  },
})
