import { compilePolicy, isNoWider, type Policy } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policies.ts'

const allow = rule('a', 'allow', ['connect:tcp'], '**.example.com')
const deny = rule('d', 'deny', ['connect:tcp'], 'db.example.com')

function org(...policies: Policy[]) {
  return compilePolicy({ policies })
}

describe('isNoWider', () => {
  it('says yes when a deny comes', () => {
    expect(isNoWider(org(policy('p', allow)), org(policy('p', allow, deny)))).toEqual({
      answer: 'yes',
    })
  })

  it('says no when a deny goes, with what both policies decide of a witness', () => {
    const before = org(policy('p', allow, deny))
    const after = org(policy('p', allow))

    expect(isNoWider(before, after)).toMatchObject({
      answer: 'no',
      witness: { action: 'connect:tcp', host: 'db.example.com', port: 443 },
      before: { decision: 'deny', reason: 'rule', rules: [{ rule_id: 'd' }] },
      after: { decision: 'allow', reason: 'rule', rules: [{ rule_id: 'a' }] },
    })
  })

  it('judges what a policy means, not how it is written', () => {
    const before = org(policy('p', rule('a', 'allow', ['read'], '/data/**')))
    const after = org(policy('q', rule('b', 'allow', ['read'], '/data', '/data/*', '/data/*/**')))

    expect(isNoWider(before, after)).toEqual({ answer: 'yes' })
    expect(isNoWider(after, before)).toEqual({ answer: 'yes' })
  })

  it('passes over a local allow that does not count', () => {
    const local = [policy('l', rule('l', 'allow', ['read'], '/**'))]
    const governed = compilePolicy({ policies: [], local })
    const alone = compilePolicy({ local })

    expect(isNoWider(org(), governed)).toEqual({ answer: 'yes' })
    expect(isNoWider(org(), alone)).toMatchObject({ answer: 'no', witness: { path: '/other' } })
  })

  it('says that it does not know when the budget is used up', () => {
    const before = org(policy('p', rule('a', 'allow', ['read'], '/*/a/**', '/**/b')))
    const after = org(policy('p', rule('a', 'allow', ['read'], '/*/a/**/b')))

    expect(isNoWider(before, after)).toEqual({ answer: 'yes' })
    expect(isNoWider(before, after, { maxSteps: 10 })).toMatchObject({ answer: 'unknown' })
  })
})
