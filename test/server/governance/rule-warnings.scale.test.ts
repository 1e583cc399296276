import { expect, it } from 'vitest'
import { findWarnings } from '../../../server/src/governance/rule-warnings.ts'
import type { RuleRecord } from '../../../server/src/store/records.ts'

const LETTERS = 'abcd'

function ruleOf(resources: readonly string[]): RuleRecord {
  return { id: 'r', name: 'r', actions: ['read'], decision: 'allow', resources: [...resources] }
}

/** Paths that are slow to compare with each other. */
function hostilePaths(stars: number): string[] {
  const nameOf = (index: number, place: number) =>
    LETTERS[(index * 3 + place * ((index % 7) + 1)) % 4]
  return Array.from({ length: 100 }, (_, index) => {
    const parts = Array.from({ length: stars }, (__, place) => `**/${nameOf(index, place)}`)
    return `/${parts.join('/')}/**`
  })
}

/** The least processor time of some calls, in milliseconds. */
function leastMs(rule: RuleRecord): number {
  const times = Array.from({ length: 5 }, () => {
    const { user } = process.threadCpuUsage()
    findWarnings(rule)
    return (process.threadCpuUsage().user - user) / 1000
  })
  return Math.min(...times)
}

it.each([7, 16])('takes milliseconds for hostile paths of %d stars', (stars) => {
  expect(leastMs(ruleOf(hostilePaths(stars)))).toBeLessThan(50)
})

it('warns of each fault in a hundred ordinary paths, and looks at no larger rule', () => {
  const paths = Array.from({ length: 100 }, (_, index) => `/data/project ${index}/“sources”/**`)

  expect(findWarnings(ruleOf(paths))).toHaveLength(100)
  expect(findWarnings(ruleOf([...paths, ...paths]))).toEqual([])
  expect(findWarnings(ruleOf(paths.map((path) => `${path}/${path}`)))).toEqual([])
})
