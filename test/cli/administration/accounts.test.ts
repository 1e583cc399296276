import { describe, expect, it } from 'vitest'
import { openTestServer } from '../../server/test-server.ts'
import { runCli, type CliRun, type CliSetting } from '../run-cli.ts'

/** `palisade` as alice, the owner of acme on a real server. */
async function openAcme() {
  const { server, createOrganization, exchange } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const env = {
    PALISADE_SERVER: await server.app.listen({ host: '127.0.0.1', port: 0 }),
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  const run = (argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
    runCli(argv, { env, now: () => Date.parse('2026-11-21T08:00:00.250Z'), ...setting })
  async function ok(...argv: string[]): Promise<string> {
    const { code, out, err } = await run(argv)
    expect(`${code} ${err}`, argv.join(' ')).toBe('0 ')
    return out
  }
  return { env, run, ok, exchange }
}

const answering = (answer: boolean | null): NonNullable<CliSetting['prompts']> => ({
  text: async () => null,
  secret: async () => null,
  confirm: async () => answer,
})

describe('palisade member', () => {
  it('adds with a password, lists, changes and removes', async () => {
    const { run, ok, exchange } = await openAcme()
    const stdin = 'a long enough password\n'

    const added = await run(['member', 'add', 'bob', '--role', 'editor', '--password-stdin'], {
      stdin,
    })
    expect(added).toMatchObject({ code: 0, out: 'added bob as editor\n', err: '' })
    expect((await exchange('bob', 'a long enough password')).statusCode).toBe(200)
    await ok('team', 'create', 'research')
    await ok('team', 'add', 'research', 'bob')
    expect(await ok('member', 'list')).toMatch(
      /^MEMBER +ROLE +TEAMS\nalice +owner\nbob +editor +research\n$/,
    )
    expect(await ok('member', 'role', 'bob', 'auditor')).toBe('bob is now auditor\n')
    expect(JSON.parse(await ok('member', 'remove', 'bob', '--yes', '--json'))).toEqual({
      removed: 'bob',
      organization_tokens_revoked: false,
      organization_tokens: [],
    })
    expect(JSON.parse(await ok('member', 'list', '--json')).data).toHaveLength(1)
  })

  it('names the organization tokens that exceed the permissions of their creator', async () => {
    const { env, run, ok } = await openAcme()
    const stdin = 'a long enough password\n'
    await run(['member', 'add', 'bob', '--role', 'owner', '--password-stdin'], { stdin })
    const asBob = { ...env, PALISADE_USERNAME: 'bob', PALISADE_TOKEN: 'a long enough password' }
    const make = async (name: string, permission: string): Promise<string> => {
      const argv = ['token', 'create', name, '--organization', '--permission', permission, '--json']
      const made = await run(argv, { env: asBob })
      expect(made).toMatchObject({ code: 0, err: '' })
      return JSON.parse(made.out).id
    }
    const admin = await make('admin', 'organization:admin')
    const reader = await make('reader', 'policies:read')
    const list = () => ok('token', 'list', '--organization')
    const revocation = (name: string, id: string) =>
      `  ${name}: palisade token revoke --organization ${id}\n`

    expect(await list()).not.toContain('any more')
    expect(await ok('member', 'role', 'bob', 'editor')).toBe(
      'bob is now editor\n' +
        '1 organization token exceeds its creator in permissions:\n' +
        revocation('admin', admin),
    )
    expect(await list()).toContain(revocation('admin', admin))
    expect(await ok('member', 'remove', 'bob', '--yes')).toBe(
      'removed bob\n' +
        '2 organization tokens exceed their creators in permissions:\n' +
        revocation('admin', admin) +
        revocation('reader', reader),
    )
    expect(await list()).toContain(revocation('reader', reader))
    await ok('token', 'revoke', '--organization', admin, '--yes')
    await ok('token', 'revoke', '--organization', reader, '--yes')
    expect(await list()).not.toContain('any more')
  })

  it('revokes those tokens with the role', async () => {
    const { env, run, ok } = await openAcme()
    const stdin = 'a long enough password\n'
    await run(['member', 'add', 'bob', '--role', 'owner', '--password-stdin'], { stdin })
    const asBob = { ...env, PALISADE_USERNAME: 'bob', PALISADE_TOKEN: 'a long enough password' }
    const permissions = ['--organization', '--permission', 'audit:read']
    await run(['token', 'create', 'ci', ...permissions], { env: asBob })

    expect(await ok('member', 'role', 'bob', 'member', '--revoke-tokens')).toBe(
      'bob is now member\n',
    )
    expect(await ok('token', 'list', '--organization')).not.toContain('ci')
  })

  it('lets a member leave after a confirmation', async () => {
    const { env, run, ok } = await openAcme()
    const stdin = 'a long enough password\n'
    await run(['member', 'add', 'bob', '--password-stdin'], { stdin })
    const asBob = { PALISADE_USERNAME: 'bob', PALISADE_TOKEN: 'a long enough password' }
    const leave = (argv: readonly string[], setting: CliSetting = {}) =>
      run(['member', 'leave', ...argv], { ...setting, env: { ...env, ...asBob } })

    const alone = await leave([])
    const unsure = await leave([], { prompts: answering(false) })
    expect([alone.code, unsure.code]).toEqual([2, 1])
    expect(unsure.err).toContain('you are still a member')
    const left = await leave(['--yes'])
    const again = await leave(['--yes'])
    const last = await run(['member', 'leave', '--yes'])

    expect(left).toEqual({ code: 0, out: 'left acme\n', err: '' })
    expect(again).toMatchObject({ code: 1, out: '' })
    expect(last).toMatchObject({ code: 1, err: expect.stringContaining('last owner') })
    expect(await ok('member', 'list')).not.toContain('bob')
  })

  it('takes the password of a plain member, whose token has no permissions', async () => {
    const { env, run } = await openAcme()
    const stdin = 'a long enough password\n'
    await run(['member', 'add', 'bob', '--password-stdin'], { stdin })
    const asBob = { ...env, PALISADE_USERNAME: 'bob', PALISADE_TOKEN: 'a long enough password' }
    const made = await run(['token', 'create', 'laptop', '--json'], { env: asBob })
    const byToken = { ...env, PALISADE_USERNAME: 'bob', PALISADE_TOKEN: JSON.parse(made.out).token }

    const refused = await run(['member', 'leave', '--yes'], { env: byToken })
    const left = await run(['member', 'leave', '--yes', '--password-stdin'], {
      env: byToken,
      stdin,
    })

    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('your password') })
    expect(left).toEqual({ code: 0, out: 'left acme\n', err: '' })
  })

  it('removes after a confirmation, and refuses without a terminal', async () => {
    const { run, ok } = await openAcme()
    await ok('member', 'add', 'bob')

    const alone = await run(['member', 'remove', 'bob'])
    const refused = await run(['member', 'remove', 'bob'], { prompts: answering(false) })
    expect([alone.code, refused.code]).toEqual([2, 1])
    expect(refused.err).toContain('no member was removed')
    expect(await ok('member', 'list')).toContain('bob')

    const agreed = await run(['member', 'remove', 'bob'], { prompts: answering(true) })
    expect(agreed).toMatchObject({ code: 0, out: 'removed bob\n' })
  })

  it('lists the roles, and passes on a refusal of the server', async () => {
    const { run } = await openAcme()

    const wrong = await run(['member', 'add', 'bob', '--role', 'king'])
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain('owner, editor, auditor, member')
    const last = await run(['member', 'remove', 'alice', '--yes'])
    expect(last).toMatchObject({ code: 1, out: '' })
    expect(last.err).toContain('last owner')
  })
})

describe('palisade team', () => {
  it('creates, fills, lists and empties by name or id', async () => {
    const { ok } = await openAcme()
    await ok('member', 'add', 'bob')
    const { id } = JSON.parse(await ok('team', 'create', 'research', '--json'))

    expect(await ok('team', 'add', id, 'alice', 'bob')).toBe(
      'alice, bob added to team `research`\n',
    )
    expect(await ok('team', 'ls')).toBe('TEAM      MEMBERS\nresearch  alice, bob\n')
    expect(await ok('team', 'list', '--wide')).toMatch(
      new RegExp(`^TEAM +MEMBERS +ID\nresearch +alice, bob +${id}\n$`),
    )
    await ok('team', 'remove', 'research', 'alice')
    expect(JSON.parse(await ok('team', 'list', '--json')).data).toEqual([
      { id, name: 'research', members: ['bob'] },
    ])
    await ok('team', 'delete', 'research', '--yes')
    expect(await ok('team', 'list')).toBe('no teams; write `palisade team create NAME`\n')
  })

  it('removes a team from policies only with --detach', async () => {
    const { run, ok } = await openAcme()
    const { id } = JSON.parse(await ok('team', 'create', 'research', '--json'))
    await ok('policy', 'create', 'only research', '--team', id)

    const used = await run(['team', 'delete', 'research', '--yes'])
    const sole = await run(['team', 'delete', 'research', '--yes', '--detach'])
    for (const refused of [used, sole]) {
      expect(refused).toMatchObject({ code: 1, out: '' })
      expect(refused.err).toContain('only research')
    }

    await ok('team', 'delete', 'research', '--yes', '--detach', '--delete-sole')
    expect(await ok('policy', 'list')).toContain('no policies')
  })

  it('names an unknown member, and how to add one', async () => {
    const { run, ok } = await openAcme()
    await ok('team', 'create', 'research')

    const absent = await run(['team', 'add', 'research', 'bob'])
    const slip = await run(['team', 'add', 'research', 'alise'])

    expect(absent.err).toBe('error: no member `bob`; `palisade member add bob` adds one\n')
    expect(slip.err).toBe('error: no member `alise`; did you mean `alice`?\n')
  })

  it('suggests the nearest name', async () => {
    const { run, ok } = await openAcme()
    await ok('team', 'create', 'research')

    expect((await run(['team', 'delete', 'reserch', '--yes'])).err).toBe(
      'error: no team `reserch`; did you mean `research`?\n',
    )
  })
})

const READS = ['--permission', 'policies:read'] as const

describe('palisade token', () => {
  it('creates one, prints only its secret, lists and revokes it', async () => {
    const { ok, exchange } = await openAcme()

    const secret = (
      await ok('token', 'create', 'laptop', '--permission', 'policies:read,audit:read')
    ).trimEnd()
    expect(secret).toMatch(/^pal_pat_\w{49}$/)
    expect((await exchange('alice', secret)).statusCode).toBe(200)
    const short = await ok('token', 'ls')
    expect(short).toMatch(/^TOKEN +PERMISSIONS +MADE BY +EXPIRES +LAST USED\n/)
    expect(short).toMatch(/\nlaptop +policies:read +user:alice +in 90 days +never\n/)
    const table = await ok('token', 'list', '--wide')
    expect(table).toMatch(/^TOKEN +BEGINS +PERMISSIONS +MADE BY +EXPIRES +LAST USED +ID\n/)
    expect(table).toMatch(
      new RegExp(`\nlaptop +${secret.slice(0, 12)} +policies:read +user:alice +in 90 days +never `),
    )
    expect(table).not.toContain(secret)

    expect(await ok('token', 'revoke', 'laptop', '--yes')).toContain('revoked token `laptop`')
    expect((await exchange('alice', secret)).statusCode).toBe(401)
  })

  it('separates tokens of the organization from personal ones', async () => {
    const { run, ok, exchange } = await openAcme()

    const made = JSON.parse(
      await ok('token', 'create', 'ci', '--organization', '--days', '7', '--json', ...READS),
    )
    expect(made.token).toMatch(/^pal_oat_/)
    expect((await exchange('acme', made.token)).statusCode).toBe(200)
    expect(await ok('token', 'list', '--wide')).not.toContain(made.id)
    expect(await ok('token', 'list', '--organization', '--wide')).toContain(made.id)
    expect((await run(['token', 'revoke', made.id, '--yes'])).code).toBe(1)
    await ok('token', 'revoke', made.id, '--organization', '--yes')
    expect(await ok('token', 'list', '--organization')).toContain('no tokens')
  })

  it('refuses to revoke an ambiguous name', async () => {
    const { run, ok } = await openAcme()
    await ok('token', 'create', 'twin', ...READS)
    const { id } = JSON.parse(await ok('token', 'create', 'twin', ...READS, '--json'))

    const refused = await run(['token', 'revoke', 'twin', '--yes'])

    expect(refused.code).toBe(1)
    expect(refused.err).toContain('write the id')
    expect((await ok('token', 'list')).match(/^twin /gm)).toHaveLength(2)
    await ok('token', 'revoke', id.slice(0, 13), '--yes')
    expect((await ok('token', 'list')).match(/^twin /gm)).toHaveLength(1)
  })

  it('warns of one without permissions', async () => {
    const { run } = await openAcme()

    const made = await run(['token', 'create', 'empty'])

    expect(made.code).toBe(0)
    expect(made.err).toMatch(/^warning: this token has no permissions; write `--permission /)
  })

  it.each([
    ['--days', '0'],
    ['--days', '3651'],
    ['--days', '1.5'],
    ['--permission', 'root'],
  ])('refuses %s %s as wrong usage', async (option, value) => {
    const { run } = await openAcme()

    expect(await run(['token', 'create', 'x', option, value])).toMatchObject({ code: 2, out: '' })
  })
})
