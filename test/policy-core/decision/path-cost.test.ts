import {
  compilePolicy,
  decide,
  MAX_PATH_COST,
  pathCost,
  pathLoad,
  PolicyError,
  type Policy,
  type PolicyProblem,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'

function rule(resources: readonly string[]) {
  return {
    id: 'r',
    name: 'paths',
    actions: ['read' as const],
    decision: 'allow' as const,
    resources,
  }
}

function policyOf(resources: readonly string[]): Policy {
  return { id: 'p', name: 'costly', allowlist_v0: { rules: [rule(resources)] } }
}

function range(length: number, of: (index: number) => string): string[] {
  return Array.from({ length }, (_, index) => of(index))
}

/** All lists of `length` letters. */
function words(length: number, letters: readonly string[]): string[][] {
  if (length === 0) return [[]]
  return words(length - 1, letters).flatMap((word) => letters.map((letter) => [...word, letter]))
}

/** Pattern sets of which one path meets very many at once. */
const HOSTILE: [kind: string, resources: string[]][] = [
  ['nested `**`', words(4, [...'abcdefghijklmnopq']).map((all) => `/**/${all.join('/**/')}/**`)],
  [
    'globs between two `**`',
    words(5, ['*a*', '*b*', 'a*', '*']).map((all) => `/**/x/${all.join('/')}/y/**/z`),
  ],
  ['one long run between two `**`', [`/**${'/x'.repeat(1_900)}/**/y`]],
  ['pieces of one name', words(13, ['a', 'b']).map((all) => `/*${all.join('*')}*`)],
]

const ORDINARY: [kind: string, resources: string[]][] = [
  ['names without `*`', range(50_000, (at) => `/srv/${at % 100}/file-${at}`)],
  ['folders of projects', range(25_000, (at) => `/home/*/project-${at}/**`)],
  ['files of any folder', range(25_000, (at) => `/**/.env-${at}`)],
  ['folders in any folder of one', range(25_000, (at) => `/home/**/p${at}/**`)],
  ['folders of any folder', range(25_000, (at) => `/**/node_modules/name-${at}/**`)],
  [
    'folders below a folder of any name',
    range(25_000, (at) => `/**/packages/*/name-${at}/**/*.pem`),
  ],
  [
    'folders of projects, and some in them',
    range(25_000, (at) => `/srv/${at}/**/src/generated/**`),
  ],
  ['endings', range(5_000, (at) => `/**/*.ending-${at}`)],
  ['words in names', range(2_000, (at) => `/**/*word-${at}*/**`)],
  ['two words in names', range(2_000, (at) => `/**/*user-${at}*backup*/**`)],
  ['two words in names of one folder', range(2_000, (at) => `/data/*user-${at}*backup*`)],
  ['folders whose names hold a word', range(400, (at) => `/**/*-${at}-*/src/**`)],
]

describe('the cost of the path patterns of a set', () => {
  it.each(HOSTILE)('exceeds the limit, and the error names the pattern: %s', (_, resources) => {
    const compile = () => compilePolicy({ policies: [policyOf(resources)] })
    const problem = problemOf(compile)
    const index = Number(/^resources\[(\d+)\]$/.exec(problem.member)?.[1])

    expect(costOf([rule(resources)])).toBeGreaterThan(MAX_PATH_COST)
    expect(problem).toMatchObject({ policy_id: 'p', policy_name: 'costly', rule_id: 'r' })
    expect(problem.message).toContain(`${MAX_PATH_COST} is the limit`)
    expect(problem.message.startsWith(`\`${resources[index]!.slice(0, 20)}`)).toBe(true)
  })

  it.each(ORDINARY)('is below the limit for thousands of ordinary patterns: %s', (_, resources) => {
    expect(costOf([rule(resources)])).toBeLessThan(MAX_PATH_COST)
    expect(() => compilePolicy({ policies: [policyOf(resources)] })).not.toThrow()
  })

  it('has the same limit on a case-insensitive file system', () => {
    const resources = words(4, [...'abcdefghijklmnopq']).map((all) => `/**/${all.join('/**/')}/**`)
    const policies = [policyOf(resources)]

    expect(() => compilePolicy({ policies }, { caseSensitive: false })).toThrow(PolicyError)
  })

  it('has no limit when the limits are off, and every pattern decides', () => {
    const [, resources] = HOSTILE[0]!
    const policy = compilePolicy({ policies: [policyOf(resources)] }, { patternLimits: false })

    expect(decide(policy, { action: 'read', path: '/a/x/b/c/d/e' }).decision).toBe('allow')
    expect(decide(policy, { action: 'read', path: '/a/x/z/c' }).decision).toBe('deny')
  })

  it('counts `~` for any home directory and ignores network rules', () => {
    const [, resources] = HOSTILE[0]!
    const web = { ...rule(['example.com']), actions: ['connect:tcp' as const] }

    expect(costOf([rule(resources.map((text) => `~${text}`))])).toBeGreaterThan(MAX_PATH_COST)
    expect(costOf([web])).toBe(0)
  })
})

function costOf(rules: Parameters<typeof pathLoad>[0]): number {
  return pathCost(pathLoad(rules))
}

function problemOf(compile: () => unknown): PolicyProblem {
  try {
    compile()
  } catch (error) {
    if (error instanceof PolicyError && error.problems[0] !== undefined) return error.problems[0]
  }
  throw new Error('the set was not refused')
}
