import type { Permission } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshNames } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const PASSWORD = 'a password of 2026'

/**
 * All operations that change or compute something without refusing a token without permissions
 * by 403. A new route must require a permission, or be added here deliberately.
 */
const OPEN: Readonly<Record<string, string>> = {
  // Admitted by another secret or key; the access token is ignored.
  'POST /v2/auth/token': 'the secret in the body',
  'POST /api/v1/enrol': 'an enrolment token and a key',
  'POST /api/v1/device/token': 'the key of a machine',
  'POST /api/v1/device/records': 'the token of a machine',
  'POST /api/v1/device/report': 'the token of a machine',
  'POST /api/v1/device/access-requests': 'the token of a machine',
  'PUT /api/v1/user/password': 'the old password',
  // Child tokens, which expire and are revoked with their parent.
  'POST /api/v1/user/access-tokens': 'no wider than the credential',
  'DELETE /api/v1/user/access-tokens/{token}': 'no wider than the credential',
  // A plain member has no permissions that the token could lack, so the token may revoke the
  // member's machines too. That is 403 here, because the machine does not exist.
  'POST /api/v1/orgs/{org}/devices': 'a machine of the person',
  // Asking opens nothing; an approver answers.
  'POST /api/v1/orgs/{org}/access-requests': 'a request of the person',
  'POST /api/v1/orgs/{org}/access-requests/{request}/withdraw': 'a request of the person',
  // Only reads, and only about the member.
  'POST /api/v1/orgs/{org}/check': 'a decision about the person',
}

describe('a personal token without permissions', () => {
  const atEnd = atEndOfTests()
  let test: TestServer
  let named: (name: string) => string
  let acme: Owner
  let rival: Owner
  /** A plain member of `acme`, signed in with a password. */
  let bob: string

  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    named = freshNames()
    acme = await openOwner(test, named('acme'), named('alice'))
    rival = await openOwner(test, named('rival'), named('rita'))
    bob = await acme.addMember(named('bob'), 'member', PASSWORD)
  })

  async function tokenOf(
    username: string,
    as: string,
    permissions: readonly Permission[],
  ): Promise<string> {
    const payload = { name: 'x', permissions, expires_in_days: 1 }
    const made = await test.send('POST', '/api/v1/user/access-tokens', { as, payload })
    expect(made.statusCode, made.body).toBe(201)
    return test.signIn(username, made.json<{ token: string }>().token)
  }

  const statusOf = async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    as: string,
  ) => (await test.send(method, url, { as })).statusCode
  const leave = (as: string) =>
    statusOf('DELETE', `/api/v1/orgs/${named('acme')}/members/${named('bob')}`, as)
  const invite = async (username: string) => {
    const payload = { username, role: 'member' }
    const made = await test.send('POST', `/api/v1/orgs/${named('rival')}/members`, {
      as: rival.as,
      payload,
    })
    expect(made.json()).toMatchObject({ status: 'invited' })
  }

  it('is refused by all operations except the listed ones', async () => {
    await invite(named('bob'))
    const as = await tokenOf(named('bob'), bob, [])
    const { paths } = (await test.send('GET', '/openapi.json')).json<{
      paths: Record<string, Record<string, unknown>>
    }>()
    const open: string[] = []
    for (const [path, operations] of Object.entries(paths))
      for (const method of Object.keys(operations)) {
        if (method === 'get') continue
        const url = path
          .replace('{org}', named('acme'))
          .replace('{orgName}', named('acme'))
          .replace('{username}', named('bob'))
          .replace('{inviting}', named('rival'))
          .replaceAll(/\{\w+\}/g, 'x')
        const verb = method.toUpperCase() as 'POST'
        const { statusCode } = await test.send(verb, url, { as, payload: {} })
        if (statusCode !== 403) open.push(`${verb} ${path}`)
      }

    expect(open.toSorted()).toEqual(Object.keys(OPEN).toSorted())
    expect(Object.keys(paths).length).toBeGreaterThan(40)
  })

  it('cannot leave an organization, which needs the password', async () => {
    expect(await leave(await tokenOf(named('bob'), bob, []))).toBe(403)
    expect(await statusOf('GET', `/api/v1/orgs/${named('acme')}`, bob)).toBe(200)

    expect(await leave(bob)).toBe(204)
  })

  it('cannot answer invitations', async () => {
    await invite(named('bob'))
    const as = await tokenOf(named('bob'), bob, [])

    expect(await statusOf('POST', `/api/v1/user/invitations/${named('rival')}/accept`, as)).toBe(
      403,
    )
    expect(await statusOf('DELETE', `/api/v1/user/invitations/${named('rival')}`, as)).toBe(403)

    expect(await statusOf('POST', `/api/v1/user/invitations/${named('rival')}/accept`, bob)).toBe(
      200,
    )
  })

  it('is limited like a token that lacks permissions in another organization', async () => {
    await rival.addKnown(named('bob'), 'auditor')
    const narrow = await tokenOf(named('bob'), bob, ['policies:read'])
    const whole = await tokenOf(named('bob'), bob, ['policies:read', 'audit:read'])

    expect(await leave(narrow)).toBe(403)
    expect(await leave(whole)).toBe(204)
  })
})
