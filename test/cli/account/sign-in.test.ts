import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openTestServer } from '../../server/test-server.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory, type TemporaryDirectory } from '../temporary-directory.ts'

interface World {
  readonly url: string
  readonly password: string
  readonly personalToken: string
  readonly credentialsFile: string
  login(secret: string, ...more: string[]): Promise<CliRun>
  run(...argv: string[]): Promise<CliRun>
  stored(): Promise<Record<string, string>>
  /** Names of the user's tokens that are not revoked, fetched with the password. */
  tokens(): Promise<readonly string[]>
  advance(ms: number): void
}

const LOGIN = ['login', '--org', 'acme', '--username', 'alice', '--token-stdin']

async function openWorld(directory: TemporaryDirectory): Promise<World> {
  const opened = await openTestServer()
  const { password, personal_token } = await opened.createOrganization('acme', 'alice')
  if (password === null) throw new Error('the owner has no password')
  const url = await opened.server.app.listen({ host: '127.0.0.1', port: 0 })
  const setting = { env: { PALISADE_CONFIG_DIR: directory.path }, now: () => opened.now() }
  const credentialsFile = join(directory.path, 'credentials.json')
  return {
    url,
    password,
    personalToken: personal_token,
    credentialsFile,
    advance: (ms) => opened.advance(ms),
    login: (secret, ...more) =>
      runCli([...LOGIN, '--server', url, ...more], { ...setting, stdin: secret }),
    run: (...argv) => runCli(argv, setting),
    stored: async () => JSON.parse(await readFile(credentialsFile, 'utf8')),
    async tokens() {
      const as = await opened.signIn('alice', password)
      const answer = await opened.send('GET', '/api/v1/user/access-tokens', { as })
      const { data } = answer.json<{ data: { name: string }[] }>()
      return data.map(({ name }) => name).toSorted()
    },
  }
}

describe('palisade login', () => {
  it('refuses an organization that the user does not belong to, and stores nothing', async () => {
    await using directory = await temporaryDirectory()
    const world = await openWorld(directory)

    const wrong = await world.login(world.personalToken, '--org', 'acne')
    const alsoByPassword = await world.login(world.password, '--org', 'unheard-of')

    expect(wrong).toMatchObject({ code: 1, out: '' })
    expect(wrong.err).toBe(
      'error: `alice` is not a member of organization `acne`; did you mean `--org acme`\n',
    )
    expect(alsoByPassword.code).toBe(1)
    expect(await world.tokens()).toHaveLength(1)
    await expect(stat(world.credentialsFile)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('exchanges a password for a token of this machine, which expires and is revoked', async () => {
    await using directory = await temporaryDirectory()
    const world = await openWorld(directory)
    const before = await world.tokens()

    const signedIn = await world.login(world.password)

    expect(signedIn).toMatchObject({ code: 0, err: '' })
    expect(signedIn.out).toMatch(/^signed in to .*\nthe password is not kept; .* until \d{4}-/)
    const stored = await world.stored()
    expect(JSON.stringify(stored)).not.toContain(world.password)
    expect(stored['token']).toMatch(/^pal_pat_/)
    expect(await world.tokens()).toEqual([...before, 'palisade login on laptop'].toSorted())
    expect((await world.run('policy', 'create', 'web')).code).toBe(0)
    expect((await world.run('member', 'list')).code).toBe(0)

    expect(JSON.parse((await world.run('logout', '--json')).out)).toEqual({
      signed_out: true,
      revoked: true,
    })
    expect(await world.tokens()).toEqual(before)
  })

  it('replaces the token of this machine at the next login', async () => {
    await using directory = await temporaryDirectory()
    const world = await openWorld(directory)
    await world.login(world.password)
    const first = await world.stored()

    expect((await world.login(world.password)).code).toBe(0)

    expect((await world.stored())['token_id']).not.toBe(first['token_id'])
    const made = (await world.tokens()).filter((name) => name.startsWith('palisade login'))
    expect(made).toHaveLength(1)
  })

  it('stores a token that the user gave, and leaves it valid at logout', async () => {
    await using directory = await temporaryDirectory()
    const world = await openWorld(directory)
    await world.login(world.personalToken)
    const before = await world.tokens()

    const result = await world.run('logout', '--json')

    expect(JSON.parse(result.out)).toEqual({ signed_out: true, revoked: false })
    expect(await world.tokens()).toEqual(before)
  })

  it('takes an organization token for that organization only', async () => {
    await using directory = await temporaryDirectory()
    const world = await openWorld(directory)
    await world.login(world.personalToken)
    const scope = ['--organization', '--permission', 'policies:read']
    const made = await world.run('token', 'create', 'pipeline', ...scope)
    const token = made.out.trim()

    const good = await world.login(token, '--username', 'acme')
    const wrong = await world.login(token, '--username', 'acme', '--org', 'other')

    expect(good).toMatchObject({ code: 0, err: '' })
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain('write `--org acme`')
  })
})

describe('stored credentials', () => {
  it('with a password in place of the token are refused, and left unchanged', async () => {
    await using directory = await temporaryDirectory()
    const world = await openWorld(directory)
    const { url: server, password: token } = world
    const stored = JSON.stringify({ server, org: 'acme', username: 'alice', token })
    await directory.write('credentials.json', stored)
    await chmod(world.credentialsFile, 0o600)

    const result = await world.run('policy', 'list')

    expect(result).toMatchObject({ code: 78, out: '' })
    expect(result.err).toContain('is not a credentials file; run `palisade login` again')
    expect(result.err).not.toContain(token)
    expect((await world.stored())['token']).toBe(token)
  })

  it('are refused after the token of this machine has expired', async () => {
    await using directory = await temporaryDirectory()
    const world = await openWorld(directory)
    await world.login(world.password)

    world.advance(91 * 24 * 60 * 60 * 1000)
    const result = await world.run('policy', 'list')

    expect(result).toMatchObject({ code: 78, out: '' })
    expect(result.err).toContain('expired 1 day ago; run `palisade login`')
  })

  it('are deleted with a warning when the server cannot be asked to revoke them', async () => {
    await using directory = await temporaryDirectory()
    const stored = {
      server: 'http://127.0.0.1:9',
      org: 'acme',
      username: 'alice',
      token: 'pal_pat_x',
      token_id: 't1',
      expires_at: '2027-01-01T00:00:00Z',
    }
    await directory.write('credentials.json', JSON.stringify(stored))
    const file = join(directory.path, 'credentials.json')
    await chmod(file, 0o600)

    const result = await runCli(['logout'], { env: { PALISADE_CONFIG_DIR: directory.path } })

    expect(result).toMatchObject({ code: 0, out: 'signed out\n' })
    expect(result.err).toMatch(/^warning: the token t1 at http:\/\/127\.0\.0\.1:9 is not revoked: /)
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
