import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadSources } from '../../../packages/cli/src/policy-file/load-sources.ts'
import { CliError } from '../../../packages/cli/src/runtime/cli-error.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const WEB = `policies:
  - name: web
    scope: {}
    rules:
      - { name: sites, actions: [connect:tcp], decision: allow, resources: [example.com:443] }
`
const TEAMS = `policies:
  - name: red
    scope: { teams: [Red] }
    rules:
      - { name: ours, actions: [read], decision: allow, resources: ['~/red/**'] }
---
policies:
  - name: other red
    scope: { teams: [red, blue] }
    rules:
      - { name: theirs, actions: [read], decision: deny, resources: [/data/**] }
`

/** Runs in a directory with these files; the policy files are below `p`. */
async function runIn(files: Readonly<Record<string, string>>, ...argv: string[]): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  await mkdir(join(directory.path, 'p', 'inner'), { recursive: true })
  for (const [name, content] of Object.entries(files)) await directory.write(name, content)
  return await runCli(argv, { cwd: directory.path, home: '/home/ann' })
}

const FILES = { 'p/web.yaml': WEB, 'p/inner/teams.yml': TEAMS }
const check = (files: Readonly<Record<string, string>>, ...argv: string[]) =>
  runIn(files, 'check', ...argv, '--json')

describe('check --policies with files that plan reads', () => {
  it.each([
    [0, 'p', ['connect:tcp', 'example.com:443']],
    [1, 'p', ['connect:tcp', 'example.com:80']],
    [0, 'p/web.yaml', ['connect:tcp', 'example.com:443']],
    [1, 'p/inner/teams.yml', ['read', '/home/ann/red/x']],
    [0, 'p/inner/teams.yml', ['read', '/home/ann/red/x', '--team', 'Red']],
    [1, 'p/inner/teams.yml', ['read', '/home/ann/red/x', '--team', 'red']],
    [1, 'p', ['read', '/home/ann/red/x', '--team', 'Red', '--home', '/home/eve']],
    [0, 'p', ['read', '/home/eve/red/x', '--team', 'blue', '--team', 'Red', '--home', '/home/eve']],
  ])('answers with exit %i, asking %s: %j', async (code, path, argv) => {
    expect(await check(FILES, ...argv, '--policies', path)).toMatchObject({ code, err: '' })
  })

  it('names the deciding rule by names, which stand in for ids', async () => {
    const argv = ['read', '/data/x', '--team', 'blue', '--policies', 'p']

    const { rules } = JSON.parse((await check(FILES, ...argv)).out) as { rules: object[] }

    expect(rules).toMatchObject([{ policy_id: 'other red', rule_id: 'theirs' }])
  })

  it.each([
    ['a team', ['--team', 'Red']],
    ['a home', ['--home', '/home/ann']],
  ])(
    'takes %s for these files only, because a file of the API and the agent have their own',
    async (...to) => {
      const [, option] = to
      const api = { 'p/api.json': '{"policies":[]}' }

      const beside = await check(api, 'read', '/x', '--policies', 'p/api.json', ...option)
      const agent = await check(api, 'read', '/x', ...option)

      expect([beside.code, agent.code]).toEqual([2, 2])
      expect(beside.err).toContain('has `user_teams` and `home` itself')
      expect(agent.err).toContain('need `--policies`')
    },
  )

  it('refuses an invalid home', async () => {
    const refused = await check(FILES, 'read', '/x', '--policies', 'p', '--home', 'here')

    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('`--home`: ') })
  })
})

describe('lint with files that plan reads', () => {
  it('reports file, line and column of each finding', async () => {
    const broad = TEAMS.replace('deny, resources: [/data/**]', "allow, resources: [/data/x, '/**']")

    const table = await runIn({ 'p/t.yaml': broad }, 'lint', 'p')
    const json = await runIn({ 'p/t.yaml': broad }, 'lint', 'p/t.yaml', '--json')

    expect(table.code).toBe(1)
    expect(table.out).toMatch(/^policy `other red`\n.*\n {2}warning +theirs \(p\/t\.yaml:11:80\) /)
    expect(table.out).toMatch(/p: 2 policies, 2 rules, /)
    const { findings } = JSON.parse(json.out) as { findings: { places: string[] }[] }
    for (const { places } of findings) expect(places[0]).toMatch(/^p\/t\.yaml:\d+:\d+$/)
  })

  it('reports no finding for a good policy', async () => {
    expect(await runIn({ 'p/web.json': JSON.stringify(GOOD) }, 'lint', 'p/web.json')).toEqual({
      code: 0,
      out: 'p/web.json: 1 policy, 1 rule, all good\n',
      err: '',
    })
  })
})

const GOOD = {
  policies: [
    {
      name: 'web',
      rules: [
        { name: 'a', actions: ['connect:tcp'], decision: 'allow', resources: ['example.com'] },
      ],
    },
  ],
}

it.each<[string, string, string]>([
  ['a bad pattern', 'p/web.yaml', WEB.replace('example.com', 'a*.b')],
  ['an unknown member', 'p/web.yaml', WEB.replace('decision', 'desision')],
  ['a policy without rules beside one with', 'p/web.yaml', `${WEB}  - name: bare\n`],
  ['a repeated policy', 'p/web.yaml', `${WEB}---\n${WEB}`],
  ['JSON with a wrong type', 'p/web.json', '{"policies":[{"name":1,"rules":[]}]}'],
])('check and lint report %s with the message of plan', async (_title, name, content) => {
  await using directory = await temporaryDirectory()
  await mkdir(join(directory.path, 'p'))
  await directory.write(name, content)
  for (const path of ['p', name]) {
    const told = await loadSources({ cwd: directory.path, stderr: process.stderr }, [path]).then(
      () => [],
      (error: unknown) => (error instanceof CliError ? error.lines : []),
    )
    expect(told[0]).toMatch(new RegExp(`^${name}:\\d+:\\d+: `))
    const err = told.map((line) => `error: ${line}\n`).join('')
    for (const argv of [
      ['lint', path],
      ['check', 'read', '/x', '--policies', path],
    ])
      expect(await runCli(argv, { cwd: directory.path })).toEqual({ code: 2, out: '', err })
  }
})
