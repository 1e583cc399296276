import { describe, expect, it } from 'vitest'
import {
  explainLoop,
  OWN_LOOP,
  refuseLoop,
  type IsOwnAddress,
} from '../../../../agent/src/proxy/target/proxy-loop.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'

const isOwnAddress: IsOwnAddress = (address, port) => address === '127.0.0.1' && port === 3128
const itself = { action: 'connect:tcp', host: '127.1', port: 3128 }
const ALLOWED: RuleLine = ['allow', 'connect:tcp', '127.0.0.1', '127.0.0.2', 'x.test']

function enforcing(...rules: readonly RuleLine[]) {
  const { active, use } = activePolicy()
  use(bundleOf(...rules))
  return active
}

describe('refuseLoop', () => {
  it.each<[string, readonly RuleLine[]]>([
    ['a rule allows it', [ALLOWED]],
    ['no rule opens the address', []],
  ])('denies the proxy itself and suggests no rule when %s', (_, rules) => {
    const refused = refuseLoop(enforcing(...rules).decide(itself), isOwnAddress)

    expect(refused).toMatchObject({ decision: 'deny', reason: 'protected_address', rules: [] })
    expect(refused.hint).toBe(OWN_LOOP.hint)
  })

  it('denies a name by the address that it resolves to', () => {
    const request = { ...itself, host: 'x.test', address: '::ffff:127.0.0.1' }

    expect(refuseLoop(enforcing(ALLOWED).decide(request), isOwnAddress).hint).toBe(OWN_LOOP.hint)
  })

  it.each([
    ['another port', { ...itself, port: 3129 }],
    ['another loopback address', { ...itself, host: '127.0.0.2' }],
    ['an unresolved name', { ...itself, host: 'x.test' }],
    ['a path', { action: 'read', path: '/x' }],
    ['an invalid request', null],
  ])('keeps the decision on %s', (_, request) => {
    const made = enforcing(ALLOWED).decide(request)

    expect(refuseLoop(made, isOwnAddress)).toBe(made)
  })

  it('keeps a denial by rule, and one of a machine without a policy', () => {
    const byRule = enforcing(['deny', 'connect:tcp', '127.0.0.1']).decide(itself)
    const withoutPolicy = activePolicy().active.decide(itself)

    expect(refuseLoop(byRule, isOwnAddress)).toBe(byRule)
    expect(refuseLoop(withoutPolicy, isOwnAddress)).toBe(withoutPolicy)
  })
})

describe('explainLoop', () => {
  it('lists the rule that allows it as not deciding', () => {
    const explained = explainLoop(enforcing(ALLOWED).explain(itself), isOwnAddress)

    expect(explained).toMatchObject({
      ...refuseLoop(enforcing(ALLOWED).decide(itself), isOwnAddress),
      matched: [{ resource: '127.0.0.1', deciding: false }],
      detail: "the address is that of this machine's own proxy",
    })
  })

  it('keeps every other explanation', () => {
    const made = enforcing(ALLOWED).explain({ ...itself, port: 3129 })

    expect(explainLoop(made, isOwnAddress)).toBe(made)
  })
})
