import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { compilePolicy, createCompiler, decide, PolicyError } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { policySets } from '../arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from '../arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../every-case.ts'
import { referenceDecide } from '../reference/reference-decide.ts'
import { readPolicySet } from '../reference/reference-rules.ts'

const REQUESTS = 10

describe('createCompiler', () => {
  it('compiles each set as a new compiler would', { timeout: LAW_TIMEOUT_MS }, () => {
    const compiler = createCompiler()

    const outcomes = everyCase(
      { runs: 1500, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS)),
      ([{ set, options }, choices], tally) => {
        const compiled = compiler.compile(set, options)
        const reference = readPolicySet(set, options)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const { hint: _, ...decision } = decide(compiled, request)

          expect(decision).toStrictEqual(referenceDecide(reference, request))
          tally(decision.decision)
        }
      },
    )

    expect(outcomes.rarerThan({ allow: 0.15, deny: 0.15 })).toEqual([])
  })

  it('does not change policies that it compiled earlier', () => {
    const compiler = createCompiler()
    const request = { action: 'connect:tcp', host: 'a.example', port: 443 }
    const before = compiler.compile({ policies: [allowing('a.example')] })

    const after = compiler.compile({ policies: [allowing('b.example')] })

    expect(decide(before, request).decision).toBe('allow')
    expect(decide(after, request).decision).toBe('deny')
  })

  it('rejects the sets that `compilePolicy` rejects and remains usable', () => {
    const compiler = createCompiler()
    const wrong = { policies: [allowing('a..example')] }

    for (let round = 0; round < 3; round += 1) {
      expect(() => compiler.compile(wrong)).toThrow(PolicyError)
    }

    expect(problemsOf(() => compiler.compile(wrong))).toEqual(
      problemsOf(() => compilePolicy(wrong)),
    )
    expect(() => compiler.compile({ policies: [allowing('a.example')] })).not.toThrow()
  })

  it('does not retain the contents of earlier rejected sets', () => {
    const compiler = createCompiler()
    const before = heapUsed()

    for (let round = 0; round < 60; round += 1)
      expect(() => compiler.compile({ policies: [allowing(longText(round))] })).toThrow(PolicyError)

    // All of them together would be sixty megabytes.
    expect(heapUsed() - before).toBeLessThan(20_000_000)
    expect(() => compiler.compile({ policies: [allowing('a.example')] })).not.toThrow()
  })

  it('parses a resource again for another home or case sensitivity', () => {
    const compiler = createCompiler()
    const policies = [allowing('~/Work/**', 'read')]
    const decideWith = (home: string, caseSensitive: boolean, path: string): string =>
      decide(compiler.compile({ policies, home }, { caseSensitive }), {
        action: 'read',
        path,
      }).decision

    expect(decideWith('/home/a', true, '/home/a/Work/x')).toBe('allow')
    expect(decideWith('/home/b', true, '/home/a/Work/x')).toBe('deny')
    expect(decideWith('/home/b', true, '/home/b/work/x')).toBe('deny')
    expect(decideWith('/home/b', false, '/home/b/work/x')).toBe('allow')
  })

  it('rejects too many stars unless the limits are off, whatever it compiled earlier', () => {
    const compiler = createCompiler()
    const set = { policies: [allowing('/**/a'.repeat(33), 'read')] }
    const path = '/a'.repeat(33)

    for (let round = 0; round < 2; round += 1) {
      expect(() => compiler.compile(set)).toThrow('has 33 `**`, and a pattern has at most 32')
      const lifted = compiler.compile(set, { patternLimits: false })
      expect(decide(lifted, { action: 'read', path }).decision).toBe('allow')
    }
    expect(() => compiler.compile(set, { patternLimits: true })).toThrow(PolicyError)
  })
})

function allowing(resource: string, action: 'connect:tcp' | 'read' = 'connect:tcp') {
  const rule = {
    id: 'rule_1',
    name: 'rule',
    actions: [action],
    decision: 'allow' as const,
    resources: [resource],
  }
  return { id: 'pol_1', name: 'policy', allowlist_v0: { rules: [rule] } }
}

function problemsOf(compile: () => unknown): unknown {
  try {
    return compile()
  } catch (error) {
    return error instanceof PolicyError ? error.problems : error
  }
}

function longText(round: number): string {
  return `${round}${'x'.repeat(1_000_000)}`
}

/** Bytes of reachable objects. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  return process.memoryUsage().heapUsed
}
