import {
  MAX_PATH_COST,
  pathCost,
  pathLoad,
  type Policy,
  type PolicySet,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policy-core/policies.ts'
import { palisade, type Evaluator } from './evaluator.ts'
import { prepare } from './find-difference.ts'
import { formatFound, formatTally } from './format-report.ts'
import { runFuzz } from './run-fuzz.ts'

/** Runs on a clock that advances by one at each reading, so that every run is the same. */
function runOf(evaluator: Evaluator, forMs: number) {
  let time = 0
  const now = (): number => (time += 1)
  const options = { seed: 0, forMs, shrinkMs: 5000, now, onProgress: () => undefined }
  return runFuzz(evaluator, options)
}

/** An evaluator that ignores some of the resources. */
function blindTo(isUnseen: (resource: string) => boolean): Evaluator {
  const seen = (policies: readonly Policy[] | undefined): Policy[] | undefined =>
    policies?.map((policy) => ({
      ...policy,
      allowlist_v0: {
        rules: (policy.allowlist_v0?.rules ?? []).flatMap((rule) => {
          const resources = rule.resources.filter((resource) => !isUnseen(resource))
          return resources.length === 0 ? [] : [{ ...rule, resources }]
        }),
      },
    }))
  return (set, options) =>
    palisade({ ...set, policies: seen(set.policies), local: seen(set.local) }, options)
}

function resourcesOf({ policies = [], local = [] }: PolicySet): string[] {
  return [...policies, ...local].flatMap((policy) =>
    (policy.allowlist_v0?.rules ?? []).flatMap((rule) => rule.resources),
  )
}

describe('runFuzz', () => {
  it('finds no difference in the shipped evaluator and reports its comparisons', () => {
    const { tally, found } = runOf(palisade, 2000)

    expect(found).toBeNull()
    expect(tally.cases).toBeGreaterThan(1500)
    expect(formatTally(tally, 0)).toMatch(
      /^\d+ cases, \d+ cases\/s, seed 0, \d+ sets; resources: \d+ in \d+ sets of 1 to 9, /,
    )
  })

  it('compares policies whose path patterns exceed the cost limit of a set', () => {
    const resources = Array.from({ length: 200 }, (_, at) => `/*${at}*1*2*3*4*5*6*7*8*9*`)
    const costly = rule('paths', 'allow', ['read'], ...resources)

    expect(pathCost(pathLoad([costly]))).toBeGreaterThan(MAX_PATH_COST)
    expect(prepare(palisade, { policies: [policy('p', costly)] }, {})).toHaveProperty('reference')
  })

  it('accepts that both evaluators reject a single pattern beyond its limit', () => {
    const deep = rule('paths', 'allow', ['read'], '/**/x'.repeat(33))

    expect(prepare(palisade, { policies: [policy('p', deep)] }, {})).toBeNull()
  })

  it.each([
    ['two stars', (resource: string) => resource.includes('**')],
    ['an address range', (resource: string) => /^[\d.]+\/\d+$/.test(resource)],
    ['a port', (resource: string) => resource.endsWith(':443')],
  ])('detects an evaluator that ignores %s and shrinks to one such resource', (_name, isUnseen) => {
    const { found } = runOf(blindTo(isUnseen), 20_000)

    expect(found?.difference.call).toBe('decide')
    const left = found === null ? [] : resourcesOf(found.set)
    expect(left).toHaveLength(1)
    expect(left.every(isUnseen)).toBe(true)
  })

  it('detects an explanation that disagrees with the decision', () => {
    const wrong: Evaluator = (set, options) => {
      const evaluation = palisade(set, options)
      return {
        ...evaluation,
        explain: (request) => ({ ...evaluation.explain(request), stale: true }),
      }
    }

    const { found } = runOf(wrong, 2000)

    expect(found?.difference.call).toBe('explain')
    expect(found?.difference.answered).toMatchObject({ stale: true })
  })

  it('detects an evaluator that throws while it compiles or decides', () => {
    const fail = (): never => {
      throw new TypeError('out of luck')
    }

    const refusing = runOf(fail, 2000).found
    const deciding = runOf((set, options) => ({ ...palisade(set, options), decide: fail }), 2000)

    expect(refusing?.difference).toMatchObject({ call: 'compile', expected: 'accepted' })
    expect(deciding.found?.difference.answered).toEqual({ thrown: 'TypeError: out of luck' })
  })

  it('keeps the earlier requests that a difference needs, and no others', () => {
    const forgetful: Evaluator = (set, options) => {
      const evaluation = palisade(set, options)
      let paths = 0
      return {
        ...evaluation,
        decide: (request) => {
          const decision = evaluation.decide(request)
          if (decision.request !== null && 'path' in decision.request) paths += 1
          return paths === 3 ? { ...decision, rules: [], reason: 'no_policy' } : decision
        },
      }
    }

    const { found } = runOf(forgetful, 20_000)

    expect(found?.earlier).toHaveLength(2)
    expect(found?.difference.answered).toMatchObject({ reason: 'no_policy' })
  })

  it('reports both answers and how to repeat the difference', () => {
    const { found } = runOf(
      blindTo((resource) => resource.includes('*')),
      20_000,
    )

    const report = found === null ? '' : formatFound(found)

    expect(report).toContain(`to repeat: npm run fuzz -- --minutes 1 --seed ${found?.case.seed}`)
    expect(report).toMatch(/^reference: \{/m)
    expect(report).toMatch(/^decide: \{/m)
  })

  it('finds the same difference first when started with its seed', () => {
    const blind = blindTo((resource) => resource.includes('*'))
    const seed = runOf(blind, 20_000).found?.case.seed ?? -1
    const options = { seed, forMs: 1e6, shrinkMs: 0, now: () => 0, onProgress: () => undefined }

    expect(runFuzz(blind, options).found?.case.seed).toBe(seed)
  })
})
