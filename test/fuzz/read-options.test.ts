import { describe, expect, it } from 'vitest'
import { readOptions } from './read-options.ts'

describe('readOptions', () => {
  it('reads minutes and seed', () => {
    expect(readOptions(['--minutes', '30'])).toEqual({ minutes: 30, seed: null })
    expect(readOptions(['--minutes', '0.5', '--seed', '12'])).toEqual({ minutes: 0.5, seed: 12 })
    expect(readOptions(['--help'])).toBe('help')
  })

  it.each([
    [[], '`--minutes` is missing'],
    [['--minutes', '0'], '`--minutes 0` is not a duration'],
    [['--minutes', 'long'], '`--minutes long` is not a duration'],
    [['--minutes', '1', '--seed', '1.5'], '`--seed 1.5` is not a seed'],
    [['--minutes', '1', '--seed', '4294967296'], 'is not a seed'],
    [['--hours', '1'], 'write `--minutes N'],
  ])('rejects %j with a correction', (argv, expected) => {
    expect(readOptions(argv)).toMatchObject({ wrong: expect.stringContaining(expected) })
  })
})
