import { defineConfig } from 'vitest/config'

export default defineConfig({
  ssr: { resolve: { conditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['test/**/*.test.ts'],
    maxWorkers: '100%', // the default leaves one of two cores idle
    globalSetup: ['test/server/postgres/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // No module keeps state (a rule of its own), so files share a worker: a fifth less time.
    isolate: false,
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
