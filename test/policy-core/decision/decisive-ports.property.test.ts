import { compilePolicy, decide, decisivePorts, type PolicySet } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { policySets } from '../arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from '../arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../every-case.ts'
import { policy, rule } from '../policies.ts'
import { referenceDecide } from '../reference/reference-decide.ts'
import { readPolicySet } from '../reference/reference-rules.ts'

const REQUESTS = 20

describe('the decisive ports of a name', () => {
  it('stand for every port', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 1000, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS), fc.nat({ max: 65_534 })),
      ([{ set, options }, choices, near], tally) => {
        const compiled = compilePolicy(set, options)
        const reference = readPolicySet(set, options)

        for (const choice of choices) {
          const { action, host, port } = (requestFrom(set, choice) ?? {}) as Asked
          if (action !== 'connect:tcp' && action !== 'connect:udp') continue
          if (typeof host !== 'string' || typeof port !== 'number') continue
          const decisive = decisivePorts(compiled, host)
          if (decisive.length === 0) {
            tally('none')
            continue
          }
          for (const each of [port, near + 1]) {
            if (!Number.isInteger(each) || each < 1 || each > 65_535) continue
            const alike = decisive.includes(each) ? each : decisive.at(-1)
            const { request, ...outcome } = referenceDecide(reference, { action, host, port: each })

            expect(referenceDecide(reference, { action, host, port: alike })).toMatchObject(outcome)
            expect(request).not.toBeNull()
            tally(outcome.decision)
          }
        }
      },
    )

    expect(outcomes.rarerThan({ allow: 0.1, deny: 0.1, none: 0.05 })).toEqual([])
  })

  it('are those of its rules, also above it, and one more', () => {
    const compiled = compilePolicy(SET)

    expect([...decisivePorts(compiled, 'a.x.com')].toSorted(byNumber)).toEqual([
      22, 53, 80, 443, 8443,
    ])
    expect(decisivePorts(compiled, 'a.b.x.com')).toEqual([53, 443])
    expect(decisivePorts(compiled, 'other.com')).toEqual([443])
    expect(decide(compiled, { action: 'connect:udp', host: 'a.x.com', port: 53 })).toMatchObject({
      decision: 'allow',
    })
  })

  it.each(['10.0.0.1', '[::1]', '2130706433', 'localhost', 'a.localhost', 'a..b', '', 'a b'])(
    'are absent for `%s`, which is no name',
    (host) => {
      expect(decisivePorts(compilePolicy(SET), host)).toEqual([])
    },
  )

  it('end when every port has a rule', () => {
    const every = Array.from({ length: 65_535 }, (_, index) => `x.com:${index + 1}`)
    const compiled = compilePolicy({
      policies: [policy('p', rule('a', 'allow', ['connect:tcp'], ...every))],
    })

    expect(decisivePorts(compiled, 'x.com')).toHaveLength(65_535)
    expect(decisivePorts(compiled, 'x.com')).not.toContain(65_536)
  })
})

interface Asked {
  readonly action: unknown
  readonly host?: unknown
  readonly port?: unknown
}

const SET: PolicySet = {
  policies: [
    policy(
      'p',
      rule('a', 'allow', ['connect:tcp'], '*.x.com:22', 'a.x.com:8443', '10.0.0.1:80'),
      rule('b', 'deny', ['connect:tcp', 'connect:udp'], 'a.x.com:443'),
      rule('c', 'allow', ['connect:udp'], '**.x.com:53'),
    ),
  ],
}

function byNumber(a: number, b: number): number {
  return a - b
}
