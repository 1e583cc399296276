import { afterEach, expect, it, vi } from 'vitest'
import { casesOfRun } from './run-size.ts'

afterEach(() => vi.unstubAllEnvs())

it.each([
  ['', 25, 3],
  ['', 4, 1],
  ['0.001', 100, 1],
  ['1', 25, 25],
  ['2.5', 25, 63],
])('size `%s` makes of %i cases a whole number, at least one', (size, full, cases) => {
  vi.stubEnv('PALISADE_CASES', size)

  expect(casesOfRun(full)).toBe(cases)
})

it('refuses a size that is no number', () => {
  vi.stubEnv('PALISADE_CASES', 'many')

  expect(() => casesOfRun(1)).toThrow('PALISADE_CASES')
})
