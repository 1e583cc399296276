import { defineConfig } from 'vitest/config'

export default defineConfig({
  ssr: { resolve: { conditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
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
