import { expect, it } from 'vitest'
import { TASKS } from '../../packages/launcher/tasks.mjs'

it('a task that runs sources of tests or benchmarks has our packages compiled', () => {
  // Vitest takes the sources of our packages.
  const { test: _, ...others } = TASKS
  const ofSources = Object.entries(others).filter(([, { steps }]) =>
    steps.some(([file = '']) => /^(?:bench|test)\/.*\.ts$/.test(file)),
  )

  expect(ofSources.map(([name]) => name)).toEqual(expect.arrayContaining(['bench', 'fuzz']))
  for (const [name, { build }] of ofSources) expect(build, name).toBe('everything')
})
