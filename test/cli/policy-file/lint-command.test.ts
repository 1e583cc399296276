import type { Finding } from '@palisade/policy-analysis'
import { describe, expect, it } from 'vitest'
import { rule } from '../policy-fixture.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

async function lint(content: unknown, ...options: string[]): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  await directory.write('p.json', content)
  return await runCli(['lint', 'p.json', ...options], { cwd: directory.path })
}

function policy(id: string, ...rules: readonly unknown[]) {
  return { id, name: `the ${id}`, allowlist_v0: { rules } }
}

const SHADOWED = {
  policies: [
    policy('web', rule('r1 api', 'allow connect:tcp', ['api.example.com', '*.example.org'])),
    policy('bans', rule('r2 ban', 'deny connect:tcp', ['**.example.com'])),
  ],
}

describe('palisade lint', () => {
  it('prints a table for each policy and exits with 1', async () => {
    const { code, out, err } = await lint(SHADOWED)

    expect({ code, err }).toEqual({ code: 1, err: '' })
    expect(out.split('\n').map((line) => line.trimEnd())).toEqual([
      'policy `the web` (web)',
      '  severity  rule      code      finding, and what to do',
      '  warning   api (r1)  shadowed  allowing `api.example.com` has no effect: ' +
        'all of it is denied by `**.example.com`',
      '                                remove `api.example.com`, or narrow the deny',
      '                                see ban (r2) of policy `the bans`',
      '',
      'p.json: 2 policies, 2 rules, 1 warning; `--all` shows 1 more',
      '',
    ])
  })

  it('takes several paths as one set, as plan does', async () => {
    await using directory = await temporaryDirectory()
    const write = (name: string, rules: readonly unknown[]) =>
      directory.write(`${name}.yaml`, { policies: [{ name, rules }] })
    const deny = { name: 'ban', actions: ['connect:tcp'], decision: 'deny' }
    await write('a', [{ ...deny, name: 'api', decision: 'allow', resources: ['api.example.com'] }])
    await write('b', [{ ...deny, resources: ['**.example.com'] }])
    const lintBoth = (...options: string[]) =>
      runCli(['lint', 'a.yaml', 'b.yaml', ...options], { cwd: directory.path })

    const { code, out, err } = await lintBoth()

    expect({ code, err }).toEqual({ code: 1, err: '' })
    expect(out).toContain('all of it is denied by `**.example.com`')
    expect(out).toContain('2 paths: 2 policies, 2 rules, 1 warning')
    expect(JSON.parse((await lintBoth('--json')).out)).toMatchObject({
      files: ['a.yaml', 'b.yaml'],
      policies: 2,
    })
  })

  it('refuses several paths where one is a set of its own', async () => {
    await using directory = await temporaryDirectory()
    await directory.write('p.json', SHADOWED)
    await directory.write('local.yaml', { local: [{ name: 'mine', rules: [] }] })
    const lintWith = async (file: string) =>
      runCli(['lint', file, 'p.json'], { cwd: directory.path })

    expect(await lintWith('local.yaml')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('write `palisade lint local.yaml`'),
    })
    expect((await lintWith('none.yaml')).err).toContain('none.yaml: no such file')
  })

  it('names some of the rules that cause a finding, each once', async () => {
    const denies = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      rule(`${name} deny-${name}`, 'deny connect:tcp', [`${name}.test`, `x.${name}.test`]),
    )
    const allowed = ['a.test', 'x.a.test', 'b.test', 'c.test', 'd.test', 'e.test']
    const open = rule('r open', 'allow connect:tcp', allowed)

    const { out } = await lint({ policies: [policy('p', open, ...denies)] })

    expect(out.match(/see .*/g)?.map((line) => line.trimEnd())).toEqual([
      'see deny-a (a)',
      'see deny-b (b)',
      'see deny-c (c)',
    ])
    expect(out).toContain('and 2 more rules')
  })

  it('shows informational findings with `--all`, and exits with 0', async () => {
    const policies = [policy('web', rule('r1 api', 'allow connect:tcp', ['*.example.org']))]

    expect(await lint({ policies })).toMatchObject({
      code: 0,
      out: 'p.json: 1 policy, 1 rule, all good\n',
    })
    const all = await lint({ policies }, '--all')
    expect(all.code).toBe(0)
    expect(all.out).toContain('apex_not_covered')
    expect(all.out).toContain('no errors or warnings\n')
  })

  it('shows a directory without what is in it, and exits with 0', async () => {
    const policies = [policy('files', rule('r1 build', 'allow read', ['/tmp/build']))]

    const { code, out } = await lint({ policies })

    expect(code).toBe(0)
    expect(out).toContain('`/tmp/build` does not allow what is in it, and no other rule does')
    expect(out).toContain('write `/tmp/build/**` if it is a directory')
  })

  it('reports that a local allow is inactive, and does not report a local deny', async () => {
    const allow = policy('mine', rule('r1 api', 'allow connect:tcp', ['api.example.org']))
    const deny = policy('mine', rule('r2 ads', 'deny connect:tcp', ['ads.example.org']))

    const allowed = await lint({ local: [allow] })
    const denied = await lint({ local: [deny] })

    expect(allowed.out).toContain(
      'inactive: local allow `api`; the organization governs this machine, only local denies apply',
    )
    expect(denied.out).not.toContain('inactive')
  })

  it('reports no finding for a file without policies', async () => {
    expect(await lint({ user_teams: [] })).toMatchObject({
      code: 0,
      out: 'p.json: 0 policies, 0 rules, all good\n',
    })
  })

  it('prints every finding with `--json`', async () => {
    const { code, out } = await lint(SHADOWED, '--json')

    const { findings, ...counts } = JSON.parse(out) as { findings: readonly Finding[] }
    expect(code).toBe(1)
    expect(counts).toEqual({ file: 'p.json', policies: 2, rules: 2 })
    expect(findings.map((finding) => finding.code)).toEqual(['apex_not_covered', 'shadowed'])
    expect(findings[1]?.rules.map(({ rule_id, resource }) => [rule_id, resource])).toEqual([
      ['r1', 'api.example.com'],
      ['r2', '**.example.com'],
    ])
  })

  it.each([
    ['a rule', [policy('p', rule('r a', 'allow read', ['/a']), rule('r b', 'allow read', ['/b']))]],
    ['a policy', [policy('p'), { ...policy('p'), name: 'other' }]],
  ])('reports the repeated id of %s as an error', async (_, policies) => {
    const { code, out } = await lint({ policies })

    expect(code).toBe(1)
    expect(out).toMatch(/error .*repeated_id/)
    expect(out).toMatch(/1 error\n$/)
  })

  it('considers the teams of policies, for any user', async () => {
    const teams = [
      '0b6f2a5e-6a1c-4c55-9b1e-2f3f4a5b6c7d',
      '1b6f2a5e-6a1c-4c55-9b1e-2f3f4a5b6c7d',
    ] as const
    const [web, bans] = SHADOWED.policies
    const scoped = (team: string) => ({
      policies: [
        { ...web, scope: { teams: [teams[0]] } },
        { ...bans, scope: { teams: [team] } },
      ],
    })

    expect((await lint(scoped(teams[1]))).code).toBe(0)
    expect((await lint(scoped(teams[0]))).code).toBe(1)
  })

  it('limits the number of findings shown', async () => {
    const resources = Array.from({ length: 300 }, (_, index) => `*.t${index}`)
    const { out } = await lint({
      policies: [policy('p', rule('r a', 'allow connect:tcp', resources))],
    })

    expect(out.match(/too_broad/g)).toHaveLength(200)
    expect(out).toContain('and 100 more findings; `--json` has all')
    expect(out).toContain('300 warnings')
  })

  it('escapes terminal control characters', async () => {
    const resources = ['/\u202ea/**', '/**']
    const { out } = await lint({
      policies: [policy('p', rule('r a\u202e', 'allow read', resources))],
    })

    expect(out).toContain('too_broad')
    expect(out).not.toContain('\u202e')
  })
})
