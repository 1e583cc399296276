import { describe, expect, it } from 'vitest'
import { openTestServer } from '../../../server/test-server.ts'
import { runCli, type CliRun, type CliSetting } from '../../run-cli.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

async function openAcme(cwd: string) {
  const { server, createOrganization, now } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const env = {
    PALISADE_SERVER: await server.app.listen({ host: '127.0.0.1', port: 0 }),
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  const run = (argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
    runCli(argv, { env, now, cwd, ...setting })
  let made = 0
  async function enrol(setting: CliSetting, ...argv: string[]): Promise<string> {
    const file = `${(made += 1)}.json`
    const { out } = await run(['enrol', '--json', '--out', file, ...argv], setting)
    return JSON.parse(out).device_id
  }
  return { run, enrol }
}

describe('the names of machines', () => {
  it('distinguish two machines of one user, in less than 100 columns', async () => {
    await using directory = await temporaryDirectory()
    const { run, enrol } = await openAcme(directory.path)
    await enrol({ hostName: 'laptop-12.example' }, '--user', 'alice')
    await enrol({ hostName: 'ignored' }, '--user', 'alice', '--name', 'build machine')

    const { code, out } = await run(['device', 'list'])

    expect(code).toBe(0)
    expect(out).toMatch(/^laptop-12\.example +[0-9a-f]{8}… +alice/m)
    expect(out).toMatch(/^build machine +[0-9a-f]{8}… +alice/m)
    for (const line of out.split('\n')) expect(line.length).toBeLessThan(100)
  })

  it('are found by prefix, and identify a machine in commands', async () => {
    await using directory = await temporaryDirectory()
    const { run, enrol } = await openAcme(directory.path)
    const laptop = await enrol({ hostName: 'laptop-1' })
    await enrol({ hostName: 'ci-1' })

    const listed = await run(['device', 'list', '--name', 'lap', '--json'])
    const labelled = await run(['device', 'label', 'laptop-1', 'canary', '--json'])
    const renamed = await run(['device', 'rename', 'laptop-1', 'desk'])
    const gone = await run(['device', 'label', 'laptop-1'])

    expect(JSON.parse(listed.out).data).toMatchObject([{ id: laptop, name: 'laptop-1' }])
    expect(JSON.parse(labelled.out)).toMatchObject({ id: laptop, labels: ['canary'] })
    expect(renamed).toEqual({ code: 0, out: `renamed device ${laptop} to desk\n`, err: '' })
    expect(gone).toMatchObject({ code: 1, out: '' })
    const { data } = JSON.parse((await run(['device', 'list', '--name', 'desk', '--json'])).out)
    expect(data).toMatchObject([{ id: laptop, name: 'desk', labels: ['canary'] }])
  })

  it('without a match do not print the advice to enrol', async () => {
    await using directory = await temporaryDirectory()
    const { run, enrol } = await openAcme(directory.path)
    expect((await run(['device', 'list'])).out).toBe(
      'no devices; write `palisade enrol` on a machine\n',
    )
    await enrol({ hostName: 'laptop-1' })

    expect((await run(['device', 'list', '--name', 'desk'])).out).toBe('no matching devices\n')
    expect((await run(['device', 'list', '--label', 'canary'])).out).toBe('no matching devices\n')
  })

  it('that two machines share are refused as ambiguous', async () => {
    await using directory = await temporaryDirectory()
    const { run, enrol } = await openAcme(directory.path)
    await enrol({ hostName: 'vm' })
    await enrol({ hostName: 'vm' })

    const refused = await run(['device', 'revoke', 'vm', '--yes'])

    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('2 devices are named `vm`; write the id of one')
  })

  it.each(['', 'a\u001b[2J', 'x'.repeat(65)])('are refused: %j', async (name) => {
    await using directory = await temporaryDirectory()
    const { run } = await openAcme(directory.path)

    const enrolled = await run(['enrol', '--out', 'x.json', '--name', name])
    const listed = await run(['device', 'list', '--name', name])

    expect(enrolled).toMatchObject({ code: 2, out: '' })
    expect(enrolled.err).toContain('`--name` must')
    expect(listed).toMatchObject({ code: 2, out: '' })
  })
})
