import { lint, LINT_SEVERITIES, type Finding } from '@palisade/policy-analysis'
import { compilePolicy, decide, type PolicySet } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { rule } from '../../policy-core/policies.ts'
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

  it.each([
    ['“bad.example.test”', 'bad.example.test'],
    ['**.‘a.test’:443', '**.a.test:443'],
    ['my–host.test', 'my-host.test'],
    ['-bad.test', 'bad.test'],
    ['*.bad.test_443', '*.bad.test:443'],
  ])('names the plain spelling of the host %s', (written, meant) => {
    expect(findingOf('literal_syntax', of(deny('d', written)))?.mend).toContain(
      `write \`${meant}\``,
    )
    expect(lint(of(deny('d', meant)))).toEqual([])
  })

  it.each([
    ['/d/My\\ Documents/**', '/d/My Documents/**'],
    ['/mnt\\040x', '/mnt x'],
    ['/d/"a b"/c', '/d/a b/c'],
    ['/d/My%20Documents', '/d/My Documents'],
    ['/d/%C3%A9', '/d/é'],
    ['/d/x #y', '/d/x'],
    ['/d／＊', '/d/*'],
    ['/d/…', '/d/**'],
  ])('names the plain spelling of the path %s', (written, meant) => {
    const rules = rule('d', 'deny', read, written)

    expect(findingOf('literal_syntax', of(rules))?.mend).toBe(`write \`${meant}\``)
    expect(lint(of(rule('d', 'deny', read, meant)))).toEqual([])
  })

  it('shows both meanings of an address that takes a port', () => {
    expect(findingOf('port_in_address', of(deny('d', '::1:443')))?.mend).toBe(
      'write `[::1]:443` for the port, or `0:0:0:0:0:0:1:443` for the address',
    )
  })

  it('names the class that an allow opens', () => {
    expect(findingOf('opens_protected', of(allow('a', '169.254.169.254')))?.message).toBe(
      '`169.254.169.254` opens protected addresses (link-local, cloud metadata)',
    )
  })
})
