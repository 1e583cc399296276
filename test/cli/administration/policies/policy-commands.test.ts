import { describe, expect, it } from 'vitest'
import { envelope, type Reply, type SeenRequest } from '../../../client/loopback-server.ts'
import {
  RULE,
  RULE_ID,
  TEAM,
  WEB,
  WEB_ID,
  signedIn,
  startGovernanceServer,
} from '../../governance-server.ts'
import { runCli, type CliRun, type CliSetting } from '../../run-cli.ts'

interface Outcome extends CliRun {
  /** Requests that write, as "METHOD path body". */
  readonly writes: readonly string[]
}

async function administer(
  argv: readonly string[],
  setting: CliSetting & { readonly override?: (request: SeenRequest) => Reply | null } = {},
): Promise<Outcome> {
  const { override, ...rest } = setting
  await using server = await startGovernanceServer(override)
  const result = await runCli(argv, { env: signedIn(server), ...rest })
  const writes = server.seen
    .filter(({ method, url }) => method !== 'GET' && url !== '/v2/auth/token')
    .map(
      ({ method, url, body }) =>
        `${method} ${url.replace(/^\/v2\/orgs\/acme\/governance|^\/api\/v1\/orgs\/acme/, '')} ${body}`,
    )
  return { ...result, writes }
}

const answering = (answer: boolean | null): NonNullable<CliSetting['prompts']> => ({
  text: async () => null,
  secret: async () => null,
  confirm: async () => answer,
})

describe('palisade policy', () => {
  it('lists policies as a table without borders, or as JSON', async () => {
    const short = await administer(['policy', 'list'])
    const table = await administer(['policy', 'list', '--wide'])
    const json = await administer(['policy', 'list', '--json'])

    expect(short.out).toMatch(/^NAME +APPLIES TO +UPDATED\nweb +everybody +2026-01-02 00:00:00Z\n/)
    expect(table).toMatchObject({ code: 0, err: '' })
    const lines = table.out.split('\n')
    expect(lines[0]).toMatch(/^NAME +APPLIES TO +UPDATED +ID$/)
    expect(lines[1]).toMatch(/^web +everybody +2026-01-02T00:00:00Z +pol_0+1$/)
    expect(lines[2]).toContain(`  research (${TEAM.id})  `)
    expect(JSON.parse(json.out)).toMatchObject({
      data: [{ name: 'web' }, { scope: { teams: [{}] } }],
    })
  })

  it('names teams, and shows beginnings of their ids to those who may not list teams', async () => {
    const override = ({ url }: SeenRequest): Reply | null =>
      url.includes('/teams') ? envelope(403, 'permission_denied', 'not permitted') : null
    const named = await administer(['policy', 'list'], { columns: 80 })
    const unnamed = await administer(['policy', 'list'], { columns: 80, override })

    expect(named.out.split('\n')[2]).toMatch(/ {2}research +2026-01-02 00:00:00Z$/)
    expect(unnamed).toMatchObject({ code: 0, err: '' })
    expect(unnamed.out.split('\n')[2]).toMatch(/ {2}team 6c0b7c0a… +2026-01-02 /)
  })

  it('says how to create a policy when the list is empty', async () => {
    const override = (): Reply => ({ body: { data: [], next_page_token: null } })

    expect((await administer(['policy', 'list'], { override })).out).toContain('policy create')
  })

  it.each(['web', ' web ', WEB_ID])('shows %j by name or id, one resource a line', async (name) => {
    const result = await administer(['policy', 'show', name])

    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).toMatch(/^policy {6}web\n/)
    expect(result.out).toMatch(/\napi +allow +connect:tcp +example\.com:443\n +\*\.example\.com\n$/)
    expect(JSON.parse((await administer(['policy', 'show', name, '--json'])).out)).toEqual(WEB)
  })

  it('suggests the nearest name for an unknown policy', async () => {
    const result = await administer(['policy', 'show', 'wib'])

    expect(result).toMatchObject({ code: 1, out: '' })
    expect(result.err).toBe('error: no policy `wib`; did you mean `web`?\n')
  })

  it('creates a policy for everybody or for teams', async () => {
    const open = await administer(['policy', 'create', 'new'])
    const [a = '', b = '', c = ''] = ['a', 'b', 'c'].map(
      (letter) => `6c0b7c0a-5f0e-4d7e-9a53-0b6d1f1f8a1${letter}`,
    )
    const argv = ['policy', 'create', 'new', '--team', `${a},${b}`, '--team', c]
    const team = await administer(argv)

    expect(open).toMatchObject({ code: 0, writes: ['POST /policies {"name":"new"}'] })
    expect(open.out).toMatch(/^created policy `new` \(pol_/)
    const body = JSON.stringify({ name: 'new', scope: { teams: [a, b, c] } })
    expect(team.writes).toEqual([`POST /policies ${body}`])
  })

  it('deletes only after a confirmation, or with --yes', async () => {
    const gone = `DELETE /policies/${WEB_ID} `
    const argv = ['policy', 'delete', 'web']

    expect(await administer([...argv, '--yes'])).toMatchObject({ code: 0, writes: [gone] })
    expect(await administer(argv, { prompts: answering(true) })).toMatchObject({
      code: 0,
      writes: [gone],
    })
    for (const answer of [false, null])
      expect(await administer(argv, { prompts: answering(answer) })).toMatchObject({
        code: 1,
        writes: [],
        err: 'error: nothing was deleted\n',
      })
    expect(await administer(argv)).toMatchObject({ code: 2, writes: [] })
  })

  it('escapes a hostile name in the question', async () => {
    const asked: string[] = []
    const name = 'web\u001b[2Kharmless\r'
    const result = await administer(['policy', 'delete', WEB_ID], {
      override: ({ method }) => (method === 'GET' ? { body: { ...WEB, name } } : null),
      prompts: {
        ...answering(false),
        confirm: async (message) => {
          asked.push(message)
          return false
        },
      },
    })

    expect(result.code).toBe(1)
    expect(asked).toEqual([
      `Delete policy \`web\\u001b[2Kharmless\\u000d\` (${WEB_ID}) with 1 rule?`,
    ])
  })

  it('prints hostile names in tables and JSON without control characters', async () => {
    const name = 'a\u001b[31m\nb\u0007\u009b\u202e'
    const override = ({ url }: SeenRequest): Reply | null =>
      url.endsWith(WEB_ID) ? { body: { ...WEB, name } } : null

    const text = await administer(['policy', 'show', WEB_ID], { override, colour: false })
    const json = await administer(['policy', 'show', WEB_ID, '--json'], { override })

    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    const active = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/
    expect(text.out).toContain('a\\u001b[31m\\u000ab\\u0007\\u009b\\u202e')
    expect(text.out).not.toMatch(active)
    expect(json.out).not.toMatch(active)
    expect((JSON.parse(json.out) as { name: string }).name).toBe(name)
  })
})

describe('palisade rule', () => {
  it('adds a rule with options on either side of the resources', async () => {
    const body =
      '{"name":"n","actions":["connect:tcp","connect:udp"],"decision":"deny","resources":["a.b","c.d"]}'
    for (const argv of [
      ['web', '--name', 'n', '--action', 'connect:tcp,connect:udp', '--deny', 'a.b', 'c.d'],
      [
        'web',
        'a.b',
        'c.d',
        '--deny',
        '--action',
        'connect:tcp',
        '--action',
        'connect:udp',
        '--name',
        'n',
      ],
    ])
      expect(await administer(['rule', 'add', ...argv])).toMatchObject({
        code: 0,
        err: '',
        writes: [`POST /policies/${WEB_ID}/rules ${body}`],
      })
  })

  it('changes only the given values', async () => {
    const path = `PATCH /policies/${WEB_ID}/rules/${RULE_ID}`

    const deny = await administer(['rule', 'update', 'web', 'api', '--deny'])
    const more = await administer([
      'rule',
      'update',
      WEB_ID,
      RULE_ID,
      'x.y',
      '--name',
      'n',
      '--json',
    ])

    expect(deny).toMatchObject({ code: 0, writes: [`${path} {"decision":"deny"}`] })
    expect(deny.out).toMatch(/^before\n[^]*allow[^]*\nafter\n[^]*deny/)
    expect(more.writes).toEqual([`${path} {"name":"n","resources":["x.y"]}`])
    expect(JSON.parse(more.out)).toMatchObject({ old: RULE, new: { name: 'n' } })
  })

  it('removes a rule by id or name', async () => {
    for (const name of ['api', RULE_ID]) {
      const result = await administer(['rule', 'rm', 'web', name])

      expect(result).toMatchObject({
        code: 0,
        out: `removed rule \`api\` (${RULE_ID}) from policy \`web\`\n`,
        writes: [`DELETE /policies/${WEB_ID}/rules/${RULE_ID} `],
      })
    }
    expect((await administer(['rule', 'rm', 'web', 'apj'])).err).toContain('did you mean `api`?')
  })

  it.each([
    [400, 'invalid_argument', 'resources[0]', 'error: resources[0]: refused (invalid_argument)\n'],
    [403, 'limit_exceeded', undefined, 'error: refused (limit_exceeded)\n'],
    [409, 'conflict', 'name', 'error: name: refused (conflict)\n'],
    [500, 'internal', undefined, 'error: refused (internal, request req-1)\n'],
  ])('reports a %i of the API in one line with exit 1', async (status, code, field, line) => {
    const reply = envelope(status, code)
    const { error } = reply.body as { error: object }
    const result = await administer(
      ['rule', 'add', 'web', '--name', 'n', '--action', 'read', '--allow', '/x'],
      {
        override: ({ method }) =>
          method === 'POST' ? { status, body: { error: { ...error, field } } } : null,
      },
    )

    expect(result).toMatchObject({ code: 1, out: '', err: line })
  })
})
