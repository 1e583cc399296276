import { expect, it } from 'vitest'
import { TASKS } from '../../packages/launcher/tasks.mjs'

it('a task that runs sources of tests or benchmarks has our packages compiled', () => {
  const ofSources = Object.entries(TASKS).filter(([, { steps }]) =>
    steps.some(([file = '']) => /^(?:bench|test)\/.*\.ts$/.test(file)),
  )

  expect(ofSources.map(([name]) => name)).toEqual(expect.arrayContaining(['bench', 'fuzz']))
  // Vitest takes the sources of our packages.
  expect(ofSources.filter(([name]) => name !== 'test').map(([, { build }]) => build)).toEqual(
    ofSources.slice(1).map(() => 'everything'),
  )
})
