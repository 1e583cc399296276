import {
  compilePolicy,
  decide,
  lint,
  LINT_SEVERITIES,
  type Finding,
  type PolicySet,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { rule } from '../policies.ts'
import { allow, deny, of, read, write } from './sets.ts'

function findingOf(code: Finding['code'], set: PolicySet): Finding | undefined {
  return lint(set).find((finding) => finding.code === code)
}

describe('a finding', () => {
  it('has an explanation and a correction', () => {
    const [finding] = lint(of(allow('a', 'x.test'), deny('d', '**.test')))

    expect(finding).toEqual({
      code: 'shadowed',
      severity: LINT_SEVERITIES.shadowed,
      rules: [
        {
          origin: 'org',
          policy_id: 'p',
          policy_name: 'policy p',
          rule_id: 'a',
          rule_name: 'allow a',
          resource: 'x.test',
        },
        {
          origin: 'org',
          policy_id: 'p',
          policy_name: 'policy p',
          rule_id: 'd',
          rule_name: 'deny d',
          resource: '**.test',
        },
      ],
      message: 'allowing `x.test` has no effect: all of it is denied by `**.test`',
      mend: 'remove `x.test`, or narrow the deny',
    })
  })

  it('suggests removing the broader of two resources when it is too broad', () => {
    const findings = lint(of(allow('a', '10.0.0.0/8', '0.0.0.0/0')))

    expect(findings.find(({ code }) => code === 'redundant')?.mend).toBe(
      'keep `10.0.0.0/8` and remove `0.0.0.0/0`, which is too broad',
    )
  })

  it('names a path that is writable but not readable', () => {
    const set = of(
      rule('w', 'allow', write, '/data/**'),
      rule('r', 'allow', read, '/data/pub/**'),
      rule('d', 'deny', write, '/data', '/data/priv/**'),
    )

    const [finding] = lint(set).filter(({ code }) => code === 'write_without_read')
    const path = /such as `(.+)` in it/.exec(finding?.message ?? '')?.[1] ?? ''

    expect(path).toMatch(/^\/data\/[^/]+/)
    expect(decide(compilePolicy(set), { action: 'write', path }).decision).toBe('allow')
    expect(decide(compilePolicy(set), { action: 'read', path }).decision).toBe('deny')
  })

  it('distinguishes one deny from several', () => {
    const rules = allow('a', 'x.test', 'y.test')

    expect(findingOf('shadowed', of(rules, deny('d', '**.test')))?.mend).toBe(
      'remove the rule, or narrow the deny',
    )
    expect(findingOf('shadowed', of(rules, deny('d', 'x.test', 'y.test')))?.mend).toBe(
      'remove the rule, or narrow the denies',
    )
  })

  it('does not suggest keeping a rule that is too broad', () => {
    const narrow = allow('a', '10.0.0.0/8', '192.168.0.0/16')

    expect(findingOf('redundant', of(narrow, allow('b', '0.0.0.0/0')))?.mend).toBe(
      'keep the rule and remove `0.0.0.0/0`, which is too broad',
    )
    expect(
      findingOf('redundant', of(allow('a', 'x.com', 'y.net'), allow('b', '**.com', '**.net')))
        ?.mend,
    ).toBe('keep the rule and remove `**.com`, `**.net`, which are too broad')
    expect(
      findingOf('redundant', of(allow('a', 'x.a.com', 'y.a.com'), allow('b', '**.a.com')))?.mend,
    ).toBe('remove the rule')
  })

  it('does not suggest opening more ports than the rule has', () => {
    expect(findingOf('apex_not_covered', of(allow('a', '**.b.test:443')))?.mend).toBe(
      'add `b.test:443` if it is needed',
    )
    expect(findingOf('apex_not_covered', of(allow('a', '*.b.test')))?.mend).toBe(
      'add `b.test` if it is needed',
    )
  })

  it.each([
    ['аpple.test', 'xn--pple-43d.test'],
    ['*.gооgle.com:443', '*.xn--ggle-55da.com:443'],
  ])('suggests a spelling of %s that has no finding', (written, meant) => {
    const mend = findingOf('confusable_host', of(allow('a', written)))?.mend

    expect(mend).toContain(`write \`${meant}\``)
    expect(findingOf('confusable_host', of(allow('a', meant)))).toBeUndefined()
  })
})
