import { describe, expect, it } from 'vitest'
import { projectsOf, readLaneOptions } from './options.ts'

describe('the options of a lane', () => {
  it('keep paths and options of vitest in their order', () => {
    const options = readLaneOptions(['--watch', 'test/cli', '-t', 'name', '--coverage'])

    expect(options).toEqual({
      help: false,
      watch: true,
      withoutMissing: false,
      afterTest: false,
      rest: ['test/cli', '-t', 'name', '--coverage'],
    })
  })

  it.each([
    ['fast', [], ['fast']],
    ['full', [], ['fast', 'process', 'PostgreSQL']],
    ['full', ['--after-test'], ['laws', 'process', 'PostgreSQL']],
  ] as const)('of the %s lane with %j run the projects %j', (lane, args, projects) => {
    expect(projectsOf(lane, readLaneOptions(args))).toEqual(projects)
  })
})
