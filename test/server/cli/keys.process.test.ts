import { decodeProtectedHeader } from 'jose'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { runServerCommand, startServerProcess } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

describe('palisade-server keys', () => {
  let settings: { PALISADE_DATA_DIR: string }

  beforeEach(() => {
    settings = { PALISADE_DATA_DIR: join(temporaryDirectory(), 'data') }
  })

  async function run(...args: string[]): Promise<string> {
    const outcome = await runServerCommand(args, settings)
    expect(`${outcome.status} ${outcome.stderr}`, args.join(' ')).toBe('0 ')
    return outcome.stdout
  }

  it('rotates and retires keys of a running server', async () => {
    const created = JSON.parse(await run('init', '--org', 'acme', '--owner', 'alice', '--json'))
    const server = await startServerProcess(settings)
    onTestFinished(async () => void (await server.stop('SIGTERM')))
    const signIn = async (): Promise<string> => {
      const response = await fetch(`${server.url}/v2/auth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'alice', password: created.personal_token }),
      })
      return ((await response.json()) as { access_token: string }).access_token
    }
    const statusOf = async (token: string): Promise<number> =>
      (
        await fetch(`${server.url}/api/v1/orgs/acme/members`, {
          headers: { authorization: `Bearer ${token}` },
        })
      ).status
    const old = await signIn()
    const oldKid = decodeProtectedHeader(old).kid ?? ''

    const rotation = JSON.parse(await run('keys', 'rotate', 'access-token', '--json'))
    const fresh = await signIn()

    expect(rotation).toMatchObject({
      signing: { purpose: 'access-token', state: 'signing' },
      followed: [{ kid: oldKid, state: 'verifying' }],
    })
    expect(decodeProtectedHeader(fresh).kid).toBe(rotation.signing.kid)
    expect([await statusOf(old), await statusOf(fresh)]).toEqual([200, 200])

    expect(await run('keys', 'retire', oldKid)).toContain(`retired \`${oldKid}\``)
    expect([await statusOf(old), await statusOf(fresh)]).toEqual([401, 200])

    const table = await run('keys', 'list')
    expect(table).toMatch(/^KEY +SIGNS +STATE +CREATED +VERIFIES UNTIL\n/)
    expect(table).toMatch(new RegExp(`\n${oldKid} +access-token +retired +\\S+ +\\S+\n`))
    expect(table).toMatch(new RegExp(`\n${rotation.signing.kid} +access-token +signing +\\S+\n`))
    expect(table + JSON.stringify(rotation)).not.toMatch(/"d"/)
  })

  it('refuses the signing key, an unknown key and another purpose', async () => {
    await run('init', '--org', 'acme', '--owner', 'alice')
    await run('keys', 'rotate', 'access-token')
    const { data } = JSON.parse(await run('keys', 'list', '--json'))
    const signing = data.find(
      (key: { purpose: string; state: string }) =>
        key.purpose === 'access-token' && key.state === 'signing',
    )
    for (const [status, message, ...args] of [
      [1, 'rotate access-token` first', 'retire', signing.kid],
      [1, 'there is no access token key `x`', 'retire', 'x'],
      [1, 'there is no access token key `-hE4`', 'retire', '-hE4'],
      [1, 'there is no access token key `--E4`', 'retire', '--E4'],
      [2, 'too many arguments', 'retire', 'x', '--jsno'],
      [2, '', 'rotate', 'bundle'],
      [2, '', 'rotate'],
    ] as const) {
      const outcome = await runServerCommand(['keys', ...args], settings)
      expect(outcome.status, args.join(' ')).toBe(status)
      expect(outcome.stderr).toContain(message)
    }
  })
})
