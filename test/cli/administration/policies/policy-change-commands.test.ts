import { describe, expect, it } from 'vitest'
import { openTestServer } from '../../../server/test-server.ts'
import { runCli, type CliRun } from '../../run-cli.ts'

/** Alice owns acme with the teams `research` and `a, b`; bob is a plain member of `research`. */
async function openAcme() {
  const { server, createOrganization } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const PALISADE_SERVER = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const as = (username: string, token: string) => ({
    PALISADE_SERVER,
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: username,
    PALISADE_TOKEN: token,
  })
  const alice = (...argv: string[]): Promise<CliRun> =>
    runCli(argv, { env: as('alice', personal_token) })
  const password = 'a long and unusual sentence'
  await runCli(['member', 'add', 'bob', '--role', 'member', '--password-stdin'], {
    env: as('alice', personal_token),
    stdin: password,
  })
  for (const team of ['research', 'a, b']) await alice('team', 'create', team)
  await alice('team', 'add', 'research', 'bob')
  await alice('policy', 'create', 'web')
  const rule = ['--name', 'r', '--action', 'connect:tcp', '--allow', 'example.com:443']
  await alice('rule', 'add', 'web', ...rule)
  const bob = (...argv: string[]): Promise<CliRun> => runCli(argv, { env: as('bob', password) })
  return { alice, bob }
}

const REQUEST = ['connect:tcp', 'example.com:443']

describe('palisade policy', () => {
  it('renames a policy and keeps its rules', async () => {
    const { alice } = await openAcme()

    const renamed = await alice('policy', 'rename', 'web', 'public web')
    const shown = await alice('policy', 'show', 'public web')

    expect(renamed).toEqual({ code: 0, out: 'renamed policy `web` to `public web`\n', err: '' })
    expect(shown.out).toContain('example.com:443')
    expect((await alice('policy', 'show', 'web')).code).toBe(1)
  })

  it('takes teams by name, also one with a comma, and names an unknown one', async () => {
    const { alice } = await openAcme()

    const made = await alice('policy', 'create', 'x', '--team', 'research', '--team', 'a, b')
    const unknown = await alice('policy', 'create', 'y', '--team', 'reserch')
    const { scope } = JSON.parse((await alice('policy', 'show', 'x', '--json')).out)

    expect(made.code).toBe(0)
    expect(scope.teams).toHaveLength(2)
    expect(unknown.err).toBe('error: no team `reserch`; did you mean `research`?\n')
  })

  it('replaces the teams of a policy, and requires --everybody for none', async () => {
    const { alice } = await openAcme()

    const teams = await alice('policy', 'teams', 'web', 'a, b')
    const denied = await alice('policy', 'check', '--user', 'bob', ...REQUEST)
    const unclear = await alice('policy', 'teams', 'web')
    const everybody = await alice('policy', 'teams', 'web', '--everybody')
    const allowed = await alice('policy', 'check', '--user', 'bob', ...REQUEST)

    expect(teams.out).toBe('policy `web` applies to a, b\n')
    expect(denied.code).not.toBe(0)
    expect(unclear).toMatchObject({ code: 2, out: '' })
    expect(everybody.out).toBe('policy `web` applies to everybody\n')
    expect(allowed).toMatchObject({ code: 0, err: '' })
    expect(allowed.out).toMatch(/^allow {2}connect:tcp example\.com:443/)
  })

  it('shows a plain member the policies that apply, and the command for the list', async () => {
    const { bob } = await openAcme()

    const list = await bob('policy', 'list')
    const own = await bob('policy', 'effective')
    const check = await bob('policy', 'check', ...REQUEST)
    const others = await bob('policy', 'check', '--user', 'alice', ...REQUEST)

    expect(list).toMatchObject({ code: 1, out: '' })
    expect(list.err).toContain('`palisade policy effective` shows the policies that apply to you')
    expect(own.out).toContain('example.com:443')
    expect(check.code).toBe(0)
    expect(others).toMatchObject({ code: 1, out: '' })
  })
})
