import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { POLICY_FILE, rule } from '../policy-fixture.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

/** Runs `palisade lint`; `check` must refuse the same files with the same messages. */
async function lint(content: unknown): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  await directory.write('p.json', content)
  const setting = { cwd: directory.path }
  const result = await runCli(['lint', 'p.json'], setting)
  const check = await runCli(['check', 'read', '/x', '--policies', 'p.json'], setting)
  const said = [check, result].map(({ err }) => err)
  expect(said[0]).toBe(said[1])
  return result
}

function policyOf(...rules: readonly unknown[]): unknown {
  return { policies: [{ id: 'pol_1', name: 'web', allowlist_v0: { rules } }] }
}

const GOOD = rule('r1 api', 'allow connect:tcp', ['example.com'])

describe('a policy file', () => {
  it('is accepted if every rule compiles', async () => {
    expect(await lint(POLICY_FILE)).toEqual({
      code: 0,
      out: 'p.json: 2 policies, 4 rules, all good\n',
      err: '',
    })
    expect((await lint({})).code).toBe(0)
    expect((await lint({ policies: [] })).code).toBe(0)
  })

  it.each<[string, unknown, string]>([
    ['empty', '', 'the text is empty'],
    ['cut off', '{"policies": [', 'not valid JSON'],
    ['broken in line 2', '{\n  "policies": ]\n}', 'line 2, column 15'],
    ['with a repeated member', '{\n"home":"/a",\n "home":"/b"}', 'member `home` stands twice'],
    ['nested too deep', `${'['.repeat(40)}${']'.repeat(40)}`, 'nesting is deeper than 32'],
    ['a list', [], 'must be an object, not an array'],
    ['null', null, 'must be an object, not null'],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'is not UTF-8 text'],
    ['marked with a BOM', '\ufeff{}', 'byte order mark'],
    ['larger than 16 MiB', Buffer.alloc(16 * 1024 * 1024 + 1, 32), 'is larger than 16 MiB'],
    [
      'with an unknown member',
      { polices: [] },
      'unknown member `polices`; did you mean `policies`?',
    ],
    ['with a far-off member', { xyzzy: 1 }, 'unknown member `xyzzy`; write one of `policies`'],
    ['with a prototype member', '{"__proto__": 1}', 'unknown member `__proto__`'],
    ['with a relative home', { home: 'home' }, 'home'],
    ['with a bad machine address', { machine_addresses: ['localhost'] }, 'localhost'],
    ['with a wrong type', { governed: 'yes' }, 'governed: must be a boolean, not a string'],
  ])('%s is refused with exit 2 and one line that names it', async (_name, content, message) => {
    const result = await lint(content)

    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.err).toMatch(/^error: p\.json: [^\n]+\n$/)
    expect(result.err).toContain(message)
  })

  it.each<[string, unknown, string]>([
    [
      'an unknown member of a rule',
      policyOf({ ...(GOOD as object), desision: 'deny' }),
      'policy `web` (pol_1) rule `api` (r1): unknown member `desision`; did you mean `decision`?',
    ],
    [
      'an unknown action',
      policyOf(rule('r1 api', 'allow connect', ['example.com'])),
      'policy `web` (pol_1) rule `api` (r1): actions[0]: `connect` is not known; ' +
        'write one of `connect:tcp`',
    ],
    [
      'an unknown decision',
      policyOf(rule('r1 api', 'permit read', ['/x'])),
      'rule `api` (r1): decision: `permit` is not known; write one of `allow`, `deny`',
    ],
    [
      'a decision in a list',
      policyOf({
        id: 'r1',
        name: 'api',
        actions: ['read'],
        decision: ['allow'],
        resources: ['/x'],
      }),
      'rule `api` (r1): decision: write one of `allow`, `deny`, not an array',
    ],
    [
      'no resources',
      policyOf(rule('r1 api', 'allow read', [])),
      'rule `api` (r1): resources: must name at least one resource',
    ],
    [
      'a bad pattern',
      policyOf(rule('r1 api', 'allow connect:tcp', ['a.b', 'a.c', 'a*.example.com'])),
      'p.json: policy `web` (pol_1) rule `api` (r1): resources[2]: `a*.example.com`',
    ],
    [
      'host bits in a range',
      policyOf(rule('r1 api', 'allow connect:tcp', ['10.0.0.1/8'])),
      '10.0.0.0/8',
    ],
    [
      'a relative path',
      policyOf(rule('r1 api', 'allow read', ['data/x'])),
      'rule `api` (r1): resources[0]: ',
    ],
    [
      'a rule without a name',
      policyOf({ id: 'r1', actions: ['read'], decision: 'allow', resources: ['/x'] }),
      'policy `web` (pol_1) rule rules[0] (r1): name: is missing; must be a string',
    ],
    [
      'a policy without anything',
      { policies: [{}] },
      'policy policies[0]: id: is missing; must be a string',
    ],
    [
      'a bad local rule',
      {
        local: [
          {
            id: 'l',
            name: 'mine',
            allowlist_v0: { rules: [rule('r x', 'deny read', ['*'])] },
          },
        ],
      },
      'local policy `mine` (l) rule `x` (r): resources[0]: ',
    ],
  ])('names policy, rule and member of %s', async (_name, content, message) => {
    const result = await lint(content)

    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.err).toContain(message)
  })

  it('lists every problem on a line of its own, up to a hundred', async () => {
    const bad = (count: number): unknown =>
      policyOf(...Array.from({ length: count }, (_, i) => rule(`r${i} n${i}`, 'deny read', ['x'])))

    expect((await lint(bad(3))).err.split('\n')).toHaveLength(3 + 1)
    const many = (await lint(bad(250))).err.trimEnd().split('\n')
    expect(many).toHaveLength(101)
    expect(many.at(-1)).toBe('error: p.json: and 150 more problems')
  })

  it('is refused for a mistake in a policy of another team', async () => {
    const [policy] = (policyOf(rule('r1 api', 'allow read', ['x'])) as { policies: object[] })
      .policies
    const content = { policies: [{ ...policy, scope: { teams: ['t1'] } }], user_teams: [] }

    expect(await lint(content)).toMatchObject({ code: 2 })
  })

  it('prints hostile names without control characters', async () => {
    const name = 'we\u001b]0;x\u0007b\r\n\u009b31m\u202e\u0000'
    const content = { policies: [{ id: '\u001b[2J', name, scope: 7 }] }

    const result = await lint(content)

    expect(result.code).toBe(2)
    expect(result.err).toContain('\\u001b]0;x\\u0007b\\u000d\\u000a\\u009b31m\\u202e\\u0000')
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(result.err.trimEnd()).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
  })

  it.each([
    ['missing.json', 'no such file or directory'],
    ['folder', 'folder: has no policy file'],
    ['folder\0', 'a file name cannot hold a NUL character'],
  ])('that cannot be read (%j) is named', async (name, message) => {
    await using directory = await temporaryDirectory()
    await mkdir(join(directory.path, 'folder'))

    const result = await runCli(['check', 'read', '/x', '--policies', name], {
      cwd: directory.path,
    })

    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.err).toContain(message)
    expect(result.err.trimEnd()).not.toContain('\0')
  })
})

describe('a policy file in YAML', () => {
  const lintYaml = async (content: string) => {
    await using directory = await temporaryDirectory()
    await directory.write('p.yaml', content)
    return await runCli(['lint', 'p.yaml'], { cwd: directory.path })
  }

  it('is equivalent to the same file in JSON', async () => {
    const result = await lintYaml(JSON.stringify(POLICY_FILE))

    expect(result).toEqual({ code: 0, out: 'p.yaml: 2 policies, 4 rules, all good\n', err: '' })
    expect((await lintYaml('# none yet\npolicies: []\n')).code).toBe(0)
  })

  it.each([
    ['home: /a\nhome: /b', 'member `home` stands twice at line 2, column 1'],
    ['policies: &p []\nlocal: *p', 'alias `*p` is not read; write it out at line 2, column 8'],
    ['policies: [', 'at line 1, column'],
    ['{}\n---\n{}', 'holds 2 documents; write exactly one'],
    ['', 'holds 0 documents; write exactly one'],
    ['governed: yes', 'governed: must be a boolean, not a string'],
    ['? '.repeat(5_000), 'nesting is deeper than 32 levels'],
  ])('is refused if it is ambiguous: %j', async (content, message) => {
    const result = await lintYaml(content)

    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.err).toContain(message)
  })
})

describe('the policies that apply', () => {
  const team = '6c0b7c0a-5f0e-4d7e-9a53-0b6d1f1f8a11'
  const [web] = (policyOf(rule('r1 x', 'allow read', ['/x'])) as { policies: object[] }).policies
  const scoped = { ...web, scope: { teams: [team] } }

  it.each<[string, unknown, number]>([
    ['a policy of everybody', { policies: [web] }, 0],
    ['a policy of a team, for a device without user', { policies: [scoped] }, 1],
    [
      'a policy of a team, for a member',
      { policies: [scoped], user_teams: [team.toUpperCase()] },
      0,
    ],
    ['a policy of a team, for another', { policies: [scoped], user_teams: ['other'] }, 1],
    ['a local allow without an organization', { local: [web] }, 0],
    ['a local allow under an organization', { policies: [], local: [web] }, 1],
    ['a local allow with governed false', { policies: [], local: [web], governed: false }, 0],
    ['a local allow with governed true', { local: [web], governed: true }, 1],
    ['nothing at all', {}, 1],
  ])('%s', async (_name, content, code) => {
    await using directory = await temporaryDirectory()
    await directory.write('p.json', content)

    const result = await runCli(['check', 'read', '/x', '--policies', 'p.json'], {
      cwd: directory.path,
    })

    expect(result).toMatchObject({ code, err: '' })
  })
})
