import { describe, expect, it } from 'vitest'
import { openTestServer } from '../../../server/test-server.ts'
import { runCli, type CliRun } from '../../run-cli.ts'

/** Alice owns acme; bob is a plain member. */
async function openAcme() {
  const { server, createOrganization } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const PALISADE_SERVER = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const as =
    (PALISADE_USERNAME: string, PALISADE_TOKEN: string) =>
    (argv: string[], stdin = ''): Promise<CliRun> =>
      runCli(argv, {
        env: { PALISADE_SERVER, PALISADE_ORG: 'acme', PALISADE_USERNAME, PALISADE_TOKEN },
        stdin,
      })
  const alice = as('alice', personal_token)
  const password = 'a long and unusual sentence'
  await alice(['member', 'add', 'bob', '--password-stdin'], password)
  return { alice, bob: as('bob', password) }
}

describe('palisade org', () => {
  it('shows every setting that the API has', async () => {
    const { alice } = await openAcme()

    const text = await alice(['org', 'show'])
    const json = await alice(['org', 'show', '--json'])

    expect(text).toMatchObject({ code: 0, err: '' })
    expect(text.out).toMatch(/^organization +acme$/m)
    expect(text.out).toMatch(/^resolve unlisted names +off$/m)
    expect(text.out).toMatch(/^fresh for +1d$/m)
    expect(text.out).toMatch(/^expires after +7d$/m)
    expect(text.out).toMatch(/^offline allow +no host$/m)
    expect(text.out).toMatch(/^upload +off: decision records stay on the machines$/m)
    expect(JSON.parse(json.out)).toMatchObject({
      name: 'acme',
      resolve_unlisted_names: false,
      distribution: { fresh_for_seconds: 86_400, offline_allow: [] },
    })
  })

  it('changes the settings that are named, and no other', async () => {
    const { alice } = await openAcme()

    const names = await alice(['org', 'set', '--resolve-unlisted-names', 'on'])
    const times = await alice(['org', 'set', '--fresh-for', '12h', '--expires-after', '3d'])
    const hosts = ['git.example.com:443', 'registry.example.com:443']
    const offline = await alice(['org', 'set', '--offline-allow', ...hosts])
    const body = JSON.parse((await alice(['org', 'show', '--json'])).out)
    const none = await alice(['org', 'set', '--no-offline-allow', '--json'])

    expect([names.code, times.code, offline.code, none.code]).toEqual([0, 0, 0, 0])
    expect(body).toMatchObject({
      resolve_unlisted_names: true,
      distribution: {
        fresh_for_seconds: 43_200,
        expires_after_seconds: 259_200,
        offline_allow: hosts,
      },
    })
    expect(JSON.parse(none.out).distribution).toEqual({
      fresh_for_seconds: 43_200,
      expires_after_seconds: 259_200,
      offline_allow: [],
    })
  })

  it('chooses which decision records machines upload', async () => {
    const { alice } = await openAcme()

    const sampled = await alice(['org', 'set', '--upload', 'sampled', '--sample-percent', '25'])
    const members = ['--path-depth', '2', '--upload-programs', 'on', '--upload-users', 'on']
    const json = await alice(['org', 'set', ...members, '--json'])
    const shown = await alice(['org', 'show'])

    expect([sampled.code, json.code]).toEqual([0, 0])
    expect(sampled.out).toMatch(/^uploaded paths +none$/m)
    expect(JSON.parse(json.out).evidence).toEqual({
      upload: 'sampled',
      sample_percent: 25,
      path_depth: 2,
      programs: true,
      users: true,
    })
    expect(shown.out).toMatch(/^upload +sampled: denials, and 25 % of the allowed$/m)
    expect(shown.out).toMatch(/^uploaded paths +the first 2 segments$/m)
    expect(shown.out).toMatch(/^uploaded programs +yes$/m)
  })

  it.each([
    [['org', 'set', '--upload', 'some'], 2, 'off, denials, sampled, full'],
    [['org', 'set', '--sample-percent', '0'], 2, 'must be a whole number from 1 to 100'],
    [['org', 'set', '--path-depth', '256'], 2, 'must be a whole number from 0 to 255'],
    [['org', 'set', '--upload-users', 'yes'], 2, 'on, off'],
    [['org', 'set'], 2, 'write a setting to change, such as `--fresh-for 12h`'],
    [['org', 'set', '--fresh-for', '5m'], 2, '`--fresh-for` must be 1h to 30d'],
    [['org', 'set', '--expires-after', '91d'], 2, '`--expires-after` must be 1h to 90d'],
    [['org', 'set', '--resolve-unlisted-names', 'yes'], 2, 'on, off'],
    [['org', 'set', '--expires-after', '2h'], 1, 'must not be less than `fresh_for_seconds`'],
    [['org', 'set', '--offline-allow', 'https://x.test/'], 1, 'x.test'],
  ])('refuses %j with exit %d', async (argv, code, message) => {
    const { alice } = await openAcme()

    const refused = await alice(argv)

    expect(refused).toMatchObject({ code, out: '' })
    expect(refused.err).toContain(message)
  })

  it('refuses a plain member, and changes nothing', async () => {
    const { alice, bob } = await openAcme()

    const refused = await bob(['org', 'set', '--resolve-unlisted-names', 'on'])

    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('organization:admin')
    expect((await alice(['org', 'show'])).out).toMatch(/^resolve unlisted names +off$/m)
  })
})
