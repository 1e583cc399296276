import { describe, expect, it } from 'vitest'
import { openTestServer } from '../../../server/test-server.ts'
import { runCli, type CliRun } from '../../run-cli.ts'

const NOW = new Date('2026-11-21T08:00:00.250Z')

/** Alice owns acme; bob and carol are plain members. */
async function openAcme() {
  const { server, createOrganization, signIn } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const PALISADE_SERVER = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const as =
    (PALISADE_USERNAME: string, PALISADE_TOKEN: string) =>
    (argv: string[], stdin = ''): Promise<CliRun> =>
      runCli(argv, {
        env: { PALISADE_SERVER, PALISADE_ORG: 'acme', PALISADE_USERNAME, PALISADE_TOKEN },
        stdin,
        now: () => NOW.getTime(),
      })
  const alice = as('alice', personal_token)
  const password = 'a long and unusual sentence'
  for (const name of ['bob', 'carol'])
    await alice(['member', 'add', name, '--password-stdin'], password)
  const bob = await signIn('bob', password)

  async function ask(resource: string, action = 'connect:tcp'): Promise<string> {
    const made = await fetch(`${PALISADE_SERVER}/api/v1/orgs/acme/access-requests`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bob}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        action,
        resources: [resource],
        duration_seconds: 3600,
        reason: 'a release',
      }),
    })
    return ((await made.json()) as { id: string }).id
  }
  return { alice, bob: as('bob', password), carol: as('carol', password), ask }
}

async function ok(run: Promise<CliRun>): Promise<string> {
  const { code, out, err } = await run
  expect(`${code} ${err}`).toBe('0 ')
  return out
}

describe('palisade access', () => {
  it('lists requests and shows what they open', async () => {
    const { alice, ask } = await openAcme()
    expect(await ok(alice(['access', 'ls']))).toBe('no access requests\n')
    const id = await ask('*.example.com:443')

    expect(await ok(alice(['access', 'ls', '--state', 'pending']))).toMatch(
      new RegExp(
        '^USER +STATE +ACTION +RESOURCES +FOR +ASKED +ID\n' +
          `bob +pending +connect:tcp +\\*\\.example\\.com:443 +1h +just now +${id.slice(0, 8)}…\n$`,
      ),
    )
    expect(await ok(alice(['access', 'list', '--wide']))).toContain(id)
    expect(await ok(alice(['access', 'ls', '--state', 'approved']))).toBe('no access requests\n')
    const shown = await ok(alice(['access', 'show', id.slice(0, 12)]))
    expect(shown).toMatch(/^effect +\*\.example\.com:443: opens it$/m)
    expect(shown).toMatch(/^recorded denials +0$/m)
    expect(JSON.parse(await ok(alice(['access', 'show', id, '--json'])))).toMatchObject({
      id,
      review: { recorded: { requests: 0 } },
    })
  })

  it('shows an approver what is sensitive in a request', async () => {
    const { alice, ask } = await openAcme()
    const id = await ask('~/.ssh/**', 'read')

    const warning =
      /^warning +`~\/\.ssh\/\*\*` opens a place of credentials; approve only the files that/m
    expect(await ok(alice(['access', 'show', id]))).toMatch(warning)
    expect(await ok(alice(['access', 'approve', id]))).toMatch(warning)
  })

  it('approves a narrower grant, revokes it and rejects', async () => {
    const { alice, ask } = await openAcme()
    const [first, second] = [await ask('*.example.com:443'), await ask('a.example.net:443')]

    const argv = ['--resource', 'a.example.com:443', '--for', '30m', '--once', '--answer', 'fine']
    const approved = await ok(alice(['access', 'approve', first, ...argv]))
    expect(approved).toMatch(/^state +approved$/m)
    expect(approved).toMatch(/^grants +a\.example\.com:443$/m)
    expect(approved).toMatch(/^until +2026-11-21T08:30:00Z, once$/m)

    const wider = await alice(['access', 'approve', second, '--resource', 'b.example.net:443'])
    expect(wider).toMatchObject({ code: 1, err: expect.stringContaining('must open no more') })
    const revoked = await ok(alice(['access', 'revoke', first, '--answer', 'done', '--json']))
    expect(JSON.parse(revoked)).toMatchObject({ state: 'revoked', answer: 'done' })
    const rejected = await ok(alice(['access', 'reject', second, '--answer', 'use the mirror']))
    expect(rejected).toMatch(/^answer +use the mirror$/m)
  })

  it('is answered by approvers of a team, and withdrawn by the requester', async () => {
    const { alice, bob, carol, ask } = await openAcme()
    const [first, second] = [await ask('a.example.com:443'), await ask('b.example.com:443')]
    await ok(alice(['team', 'create', 'research']))
    await ok(alice(['team', 'add', 'research', 'bob']))
    expect((await carol(['access', 'approve', first])).code).toBe(1)

    expect(await ok(alice(['team', 'approvers', 'research', 'add', 'carol']))).toBe(
      'approvers of team `research`: carol\n',
    )
    await ok(carol(['access', 'approve', first]))
    expect(await ok(bob(['access', 'withdraw', second]))).toMatch(/^state +withdrawn$/m)
    expect(await ok(alice(['team', 'approvers', 'research', 'rm', 'carol']))).toBe(
      'approvers of team `research`: none\n',
    )
    expect((await alice(['team', 'approvers', 'research', 'put', 'carol'])).code).toBe(2)
    expect((await alice(['team', 'approvers', 'research', 'add'])).code).toBe(2)
  })

  it('has limits that `palisade org set` changes', async () => {
    const { alice } = await openAcme()

    const text = await ok(
      alice(['org', 'set', '--access-longest', '4h', '--access-most-open', '2']),
    )

    expect(text).toMatch(/^access lasts +at most 4h$/m)
    expect(text).toMatch(/^access grants +at most 2 of a user at a time$/m)
    expect(text).toMatch(/^access answered +within 1d$/m)
    expect((await alice(['org', 'set', '--access-most-open', '51'])).code).toBe(2)
  })
})
