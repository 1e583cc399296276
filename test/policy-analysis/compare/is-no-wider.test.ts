import { isNoWider } from '@palisade/policy-analysis'
import { compilePolicy, type Policy } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../../policy-core/policies.ts'

const allow = rule('a', 'allow', ['connect:tcp'], '**.example.com')
const deny = rule('d', 'deny', ['connect:tcp'], 'db.example.com')

function org(...policies: Policy[]) {
  return compilePolicy({ policies })
}

describe('isNoWider', () => {
  it('answers yes when a deny is added', () => {
    expect(isNoWider(org(policy('p', allow)), org(policy('p', allow, deny)))).toEqual({
      answer: 'yes',
    })
  })

  it('answers no when a deny is removed, with a witness and both decisions', () => {
    const before = org(policy('p', allow, deny))
    const after = org(policy('p', allow))

    expect(isNoWider(before, after)).toMatchObject({
      answer: 'no',
      witness: { action: 'connect:tcp', host: 'db.example.com', port: 443 },
      before: { decision: 'deny', reason: 'rule', rules: [{ rule_id: 'd' }] },
      after: { decision: 'allow', reason: 'rule', rules: [{ rule_id: 'a' }] },
    })
  })

  it('compares the meaning of policies, not their form', () => {
    const before = org(policy('p', rule('a', 'allow', ['read'], '/data/**')))
    const after = org(policy('q', rule('b', 'allow', ['read'], '/data', '/data/*', '/data/*/**')))

    expect(isNoWider(before, after)).toEqual({ answer: 'yes' })
    expect(isNoWider(after, before)).toEqual({ answer: 'yes' })
  })

  it('ignores an inactive local allow', () => {
    const local = [policy('l', rule('l', 'allow', ['read'], '/**'))]
    const governed = compilePolicy({ policies: [], local })
    const alone = compilePolicy({ local })

    expect(isNoWider(org(), governed)).toEqual({ answer: 'yes' })
    expect(isNoWider(org(), alone)).toMatchObject({ answer: 'no', witness: { path: '/other' } })
  })

  it('answers unknown when the budget is used up', () => {
    const before = org(policy('p', rule('a', 'allow', ['read'], '/*/a/**', '/**/b')))
    const after = org(policy('p', rule('a', 'allow', ['read'], '/*/a/**/b')))

    expect(isNoWider(before, after)).toEqual({ answer: 'yes' })
    expect(isNoWider(before, after, { maxSteps: 10 })).toMatchObject({ answer: 'unknown' })
  })
})
