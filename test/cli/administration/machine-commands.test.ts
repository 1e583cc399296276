import { bundleSchema, grantSchema, type AssuranceClass } from '@palisade/protocol'
import { chmod, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { readDeviceKey, readEnrolment } from '../../../agent/src/sync/enrol/read-enrolment.ts'
import { freshName } from '../../server/fresh-name.ts'
import { openTestServer, type TestServer } from '../../server/test-server.ts'
import { runCli, type CliRun, type CliSetting } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { atEndOfTests } from '../../server/temporary-directory.ts'

const UNKNOWN = '00000000-0000-4000-8000-000000000000'

let test: TestServer
let url: string
const atEnd = atEndOfTests()
beforeAll(async () => {
  test = await openTestServer(atEnd)
  url = await test.server.app.listen({ host: '127.0.0.1', port: 0 })
})

/** `palisade` as alice, the owner of a new organization, and as a machine without a sign-in. */
async function openAcme(cwd: string) {
  const { store, createOrganization, now } = test
  const org = freshName('acme')
  const { personal_token } = await createOrganization(org, 'alice')
  const env = {
    PALISADE_SERVER: url,
    PALISADE_ORG: org,
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  const run = (argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
    runCli(argv, { env, now, cwd, ...setting })
  async function ok(...argv: string[]): Promise<string> {
    const { code, out, err } = await run(argv)
    expect(`${code} ${err}`, argv.join(' ')).toBe('0 ')
    return out
  }
  const machine = (argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
    runCli(['enrol', ...argv], { now, cwd, ...setting })
  const report = (
    device_id: string,
    proxy: 'failed' | null = null,
    assurance: AssuranceClass | null = null,
  ): Promise<void> =>
    store.transaction((writer) =>
      writer.deviceReports.put([
        {
          device_id,
          reported_at: new Date(now()).toISOString(),
          revision: 3,
          state: 'fresh',
          error_code: null,
          error_detail: null,
          grant_id: null,
          grant_begun_at: null,
          proxy_enforcement: proxy,
          assurance,
          policy_digest: null,
          agent_version: '0.1.0',
        },
      ]),
    )
  return { org, run, ok, machine, report }
}

describe('palisade enrolment', () => {
  it('creates a token with which a machine enrols, lists and revokes it', async () => {
    await using directory = await temporaryDirectory()
    const { org, ok, machine } = await openAcme(directory.path)
    expect(await ok('enrolment', 'list')).toContain('no enrolment tokens; write')
    const token = await ok('enrolment', 'create', 'laptops', '--uses', '2', '--label', 'vm,ci')
    await directory.write('token', token)
    await chmod(join(directory.path, 'token'), 0o600)

    const fromFile = await machine(['--token', 'token', '--out', 'one.json'])
    const piped = await machine(['--token', '-', '--out', 'two.json'], { stdin: token })
    const third = await machine(['--token', '-', '--out', 'three.json'], { stdin: token })

    expect(fromFile).toMatchObject({ code: 0, err: '' })
    expect(piped).toMatchObject({ code: 0, err: '' })
    expect(third).toMatchObject({ code: 1, out: '' })
    expect(third.err).toContain('the enrolment token is invalid, expired or used up')
    const files = ['one.json', 'one.json.key', 'token', 'two.json', 'two.json.key']
    expect((await readdir(directory.path)).toSorted()).toEqual(files)
    const path = join(directory.path, 'one.json')
    expect(await readEnrolment(path)).toMatchObject({ org, user: null })
    expect(await readDeviceKey(path)).toMatchObject({ crv: 'Ed25519' })
    expect((await stat(`${path}.key`)).mode & 0o777).toBe(0o600)
    const { data } = JSON.parse(await ok('enrolment', 'list', '--json'))
    expect(data).toMatchObject([{ name: 'laptops', labels: ['ci', 'vm'], uses: 2, max_uses: 2 }])
    expect(await ok('enrolment', 'list', '--wide')).toMatch(
      /\nlaptops +pal_enr_\w{4} +2 of 2 +ci +user:alice/,
    )
    expect(await ok('enrolment', 'revoke', 'laptops', '--yes')).toContain(data[0].id)
    expect(JSON.parse(await ok('enrolment', 'list', '--json'))).toEqual({ data: [] })
  })

  it.each([
    ['--uses', '0'],
    ['--uses', '1.5'],
    ['--days', '31'],
    ['--days', ''],
  ])('refuses %s %j without asking the server', async (option, value) => {
    await using directory = await temporaryDirectory()
    const { run } = await openAcme(directory.path)

    const { code, err } = await run(['enrolment', 'create', 'x', option, value])

    expect(code).toBe(2)
    expect(err).toContain(`\`${option}\` must be a whole number from 1 to`)
  })
})

describe('palisade enrol --token', () => {
  it('refuses a file that others can read or replace, an invalid token, and a user', async () => {
    await using directory = await temporaryDirectory()
    const { ok, machine } = await openAcme(directory.path)
    await directory.write('token', await ok('enrolment', 'create', 'one'))
    const path = join(directory.path, 'token')
    const out = ['--out', 'machine.json']

    await chmod(path, 0o640)
    const open = await machine(['--token', 'token', ...out])
    expect([open.code, open.err]).toEqual([
      2,
      'error: token: is open to other users; run `chmod 600` on it\n',
    ])
    await chmod(path, 0o600)
    await chmod(directory.path, 0o777)
    expect((await machine(['--token', 'token', ...out])).err).toContain('others may write to')
    await chmod(directory.path, 0o700)
    for (const [argv, stdin] of [
      [['--token', '-', '--user', 'alice'], 'x'],
      [['--token', '-'], 'pal_enr_x'],
      [['--token', '-'], ''],
      [['--token', 'absent'], ''],
    ] as const)
      expect(await machine([...argv, ...out], { stdin })).toMatchObject({ code: 2, out: '' })

    expect(await readdir(directory.path)).toEqual(['token'])
    expect(await machine(['--token', 'token', ...out])).toMatchObject({ code: 0 })
  })

  it('leaves no file behind if the key cannot be written', async () => {
    await using directory = await temporaryDirectory()
    const { ok, machine } = await openAcme(directory.path)
    await directory.write('machine.json.key', 'precious')
    const token = await ok('enrolment', 'create', 'one')

    const refused = await machine(['--token', '-', '--out', 'machine.json'], { stdin: token })

    expect(refused).toMatchObject({ code: 78, out: '' })
    expect(await readdir(directory.path)).toEqual(['machine.json.key'])
    expect(await readFile(join(directory.path, 'machine.json.key'), 'utf8')).toBe('precious')
  })
})

describe('palisade device', () => {
  it('lists machines, labels them and revokes them', async () => {
    await using directory = await temporaryDirectory()
    const { run, ok, report } = await openAcme(directory.path)
    expect(await ok('device', 'list')).toContain('no devices; write `palisade enrol')
    await ok('enrol', '--user', 'alice', '--out', 'machine.json')
    const { device_id: id } = await readEnrolment(join(directory.path, 'machine.json'))

    expect(await ok('device', 'label', id, 'vm', 'ci')).toBe(`device ${id} has ci, vm\n`)

    const { data } = JSON.parse(await ok('device', 'list', '--json'))
    expect(data).toMatchObject([{ id, user: 'alice', labels: ['ci', 'vm'] }])
    expect(await ok('device', 'list')).toMatch(
      new RegExp(
        `^NAME +DEVICE +USER .*\nlaptop +${id.slice(0, 8)}… +alice +ci +no report yet +never`,
      ),
    )
    await report(id)
    // The report counts as last contact; polls are recorded up to a minute late.
    expect(await ok('device', 'ls')).toMatch(/ fresh +3 +just now$/m)
    expect(await ok('device', 'list', '--wide')).toMatch(/ fresh +3 +just now +0\.1\.0/)
    expect(await ok('device', 'list')).not.toContain('probe failed')
    await report(id, 'failed')
    expect(await ok('device', 'list')).toMatch(/ fresh +3 .*\n.* probe failed\n/)
    await report(id, null, 'linux-sandbox')
    expect(await ok('device', 'list')).toMatch(/ fresh +3 .*\n.* linux-sandbox\n/)
    const { out: coloured } = await run(['device', 'list'], { colour: true, columns: 80 })
    expect(coloured).toContain('\u001b[2mlinux-sandbox\u001b[22m')
    expect(coloured).not.toContain('\\u001b')
    expect(JSON.parse(await ok('device', 'list', '--json', '--label', 'ci')).data).toMatchObject([
      { assurance: 'linux-sandbox' },
    ])
    for (const filter of [
      ['--label', 'x'],
      ['--state', 'stale'],
      ['--revision', '7'],
      ['--silent-for', '60'],
      ['--assurance', '<linux-sandbox'],
      ['--assurance', 'proxy-only'],
    ])
      expect(JSON.parse(await ok('device', 'list', '--json', ...filter)), filter.join()).toEqual({
        data: [],
      })
    for (const filter of ['linux-sandbox', '<linux-strict'])
      expect(
        JSON.parse(await ok('device', 'list', '--json', '--assurance', filter)).data,
      ).toMatchObject([{ id }])
    expect(await run(['device', 'list', '--assurance', 'strong'])).toMatchObject({ code: 2 })
    expect(await run(['device', 'list', '--revision', 'x'])).toMatchObject({ code: 2, out: '' })
    expect(await run(['device', 'list', '--state', 'great'])).toMatchObject({ code: 2, out: '' })
    expect(await ok('device', 'label', id)).toBe(`device ${id} has no label\n`)
    expect((await run(['device', 'revoke', id])).code).toBe(2)
    expect(await run(['device', 'revoke', 'nothing', '--yes'])).toMatchObject({ code: 1, out: '' })
    expect(await run(['device', 'label', ''])).toMatchObject({ code: 2, out: '' })
    expect(await ok('device', 'revoke', id, '--yes')).toBe(`revoked device ${id}\n`)
    expect(await ok('device', 'list')).toContain('just now')
    expect(JSON.parse(await ok('device', 'list', '--json')).data).toMatchObject([
      { id, revoked_at: expect.any(String) },
    ])
  })
})

describe('palisade bundle export', () => {
  it('writes the files that the machine would fetch, and none for an unknown machine', async () => {
    await using directory = await temporaryDirectory()
    const { org, run, ok } = await openAcme(directory.path)
    await ok('enrol', '--user', 'alice', '--out', 'machine.json')
    const { device_id: id } = await readEnrolment(join(directory.path, 'machine.json'))

    expect(await ok('bundle', 'export', '--device', id, '--out', 'bundle.json')).toBe(
      `wrote 4 signed files for device ${id} to bundle.json\n`,
    )

    const text = await readFile(join(directory.path, 'bundle.json'), 'utf8')
    const { assignment } = bundleSchema.parse(JSON.parse(text))
    expect(JSON.parse(assignment)).toMatchObject({ signed: { org, device_id: id } })
    const none = ['bundle', 'export', '--out', 'none.json', '--device']
    expect(await run([...none, 'nobody'])).toMatchObject({ code: 1, out: '' })
    expect(await run([...none, ''])).toMatchObject({ code: 2, out: '' })
    expect(await readdir(directory.path)).not.toContain('none.json')
  })
})

describe('palisade revision', () => {
  it('shows the progress of a revision, by default of the newest', async () => {
    await using directory = await temporaryDirectory()
    const { run, ok } = await openAcme(directory.path)
    await ok('enrol', '--out', 'machine.json')
    const newest = JSON.parse(await ok('revision', '--json'))
    expect(newest).toMatchObject({ devices: 1, applied: 0, pending: 1, rejected_by_code: [] })
    expect(newest.revision).toBe(newest.current_revision)

    expect(await ok('revision', '0')).toMatch(
      new RegExp(
        '^revision +0 \\(the newest is \\d+\\)\ncounted +just now\ndevices +1\n' +
          'applied +0\nrejected +0\npending +1\nsilent +0\n$',
      ),
    )
    expect(await run(['revision', 'x'])).toMatchObject({ code: 2, out: '' })
    const unknown = await run(['revision', '999'])
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('revision not found')])
  })
})

describe('palisade break-glass', () => {
  const FLAGS = ['--reason', 'the office is offline', '--for', '4h', '--out', 'grant.json'] as const

  async function openMachine(cwd: string) {
    const acme = await openAcme(cwd)
    await acme.ok('enrol', '--out', 'machine.json')
    const { device_id } = JSON.parse(await readFile(join(cwd, 'machine.json'), 'utf8'))
    return { ...acme, id: String(device_id) }
  }

  it('writes a grant for one machine to a file, and lists outstanding grants', async () => {
    await using directory = await temporaryDirectory()
    const { ok, id } = await openMachine(directory.path)
    expect(await ok('break-glass', 'list', id)).toContain('no grant can be begun')

    const said = await ok('break-glass', 'issue', id, ...FLAGS, '--use-within', '30m')

    const text = await readFile(join(directory.path, 'grant.json'), 'utf8')
    const { signed } = grantSchema.parse(JSON.parse(text))
    expect(signed).toMatchObject({
      device_id: id,
      reason: 'the office is offline',
      issued_by: 'user:alice',
      issued: '2026-11-21T08:00:00Z',
      use_by: '2026-11-21T08:30:00Z',
      duration_seconds: 14_400,
    })
    expect(said).toBe(
      `wrote grant ${signed.id} to grant.json: begin it before 2026-11-21T08:30:00Z; it lasts 4h\n`,
    )
    expect(await ok('break-glass', 'list', id)).toContain(`${signed.id}  the office is offline`)
    const events = await ok('events', '--kind', 'break_glass.issued', '--json')
    expect(events).toContain(signed.id)
  })

  it.each([
    [['--for', '25h'], '`--for` must be 1m to 1d'],
    [['--for', '59s'], '`--for` must be 1m to 1d'],
    [['--for', '4'], '`--for` must be 1m to 1d'],
    [['--for', '-4h'], '`--for` must be 1m to 1d'],
    [['--for', '4h', '--use-within', '31d'], '`--use-within` must be 1m to 30d'],
  ])('refuses %j without asking the server', async (flags, words) => {
    await using directory = await temporaryDirectory()
    const { run, id } = await openMachine(directory.path)
    const argv = ['break-glass', 'issue', id, '--reason', 'x', '--out', 'grant.json', ...flags]

    const { code, err } = await run(argv)

    expect([code, err]).toEqual([2, expect.stringContaining(words)])
    expect(await readdir(directory.path)).not.toContain('grant.json')
  })

  it('reports a refusal of the server, and an unknown device', async () => {
    await using directory = await temporaryDirectory()
    const { run, id } = await openMachine(directory.path)
    const blank = ['--reason', ' ', '--for', '4h', '--out', 'grant.json']

    expect(await run(['break-glass', 'issue', id, ...blank])).toMatchObject({
      code: 1,
      err: expect.stringContaining('must say why'),
    })
    const absent = await run(['break-glass', 'issue', 'absent', ...FLAGS])
    expect(absent).toMatchObject({ code: 1, err: expect.stringContaining('no device `absent`') })
    const gone = await run(['break-glass', 'issue', UNKNOWN, ...FLAGS])
    expect(gone).toMatchObject({ code: 1, err: expect.stringContaining('not_found') })
    const begun = await run(['break-glass', 'issue', id.slice(0, 8), ...FLAGS])
    expect(begun).toMatchObject({ code: 0, err: '' })
    expect(await run(['break-glass', 'list', ''])).toMatchObject({ code: 2 })
    expect(await readdir(directory.path)).toContain('grant.json')
  })
})
