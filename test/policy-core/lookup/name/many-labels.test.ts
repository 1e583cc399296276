import { compilePolicy, decide } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../../policies.ts'

const DEPTHS = Array.from({ length: 24 }, (_, index) => index + 1)

/** Returns `a.a.a.example.com` for 3. */
function below(depth: number): string {
  return `${'a.'.repeat(depth)}example.com`
}

/** Combines a rule for a name with a wildcard that many labels above it. */
describe.each(DEPTHS)('%i labels above', (depth) => {
  const name = below(depth)

  it('a deny of any depth overrides an allow of the name and below it', () => {
    const compiled = compilePolicy({
      policies: [
        policy('p', rule('above', 'deny', ['connect:tcp'], '**.example.com')),
        policy('q', rule('own', 'allow', ['connect:tcp'], name, `*.${name}`, `**.${name}`)),
      ],
    })
    for (const host of [name, `x.${name}`, `x.y.${name}`])
      expect(answer(compiled, host)).toEqual(['deny', ['above']])
  })

  it('an allow of any depth is listed beside that of the name', () => {
    const compiled = compilePolicy({
      policies: [
        policy('p', rule('above', 'allow', ['connect:tcp'], '**.example.com')),
        policy('q', rule('own', 'allow', ['connect:tcp'], name, `*.${name}`)),
      ],
    })
    for (const host of [name, `x.${name}`])
      expect(answer(compiled, host)).toEqual(['allow', ['above', 'own']])
    expect(answer(compiled, `x.y.${name}`)).toEqual(['allow', ['above']])
  })

  it('a deny of one label applies only to names one label below', () => {
    const compiled = compilePolicy({
      policies: [
        policy('p', rule('above', 'deny', ['connect:tcp'], '*.example.com')),
        policy('q', rule('own', 'allow', ['connect:tcp'], name)),
      ],
    })
    expect(answer(compiled, name)).toEqual(depth === 1 ? ['deny', ['above']] : ['allow', ['own']])
  })
})

function answer(compiled: ReturnType<typeof compilePolicy>, host: string): unknown {
  const { decision, rules } = decide(compiled, { action: 'connect:tcp', host, port: 443 })
  return [decision, rules.map(({ rule_id }) => rule_id)]
}
