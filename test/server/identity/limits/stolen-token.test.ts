import { connect, type AddressInfo } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openOwner } from '../../owner.ts'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

const MINE = '/api/v1/user/access-tokens'
const TOKEN = { name: 'x', permissions: [], expires_in_days: 1 }
const ACCESS = {
  action: 'connect:tcp',
  resources: ['registry.example.com:443'],
  duration_seconds: 3600,
  reason: 'release',
}
const BAD = { ...ACCESS, resources: ['10.0.0.0/33'] }

describe('the limits of a stolen token', () => {
  const atEnd = atEndOfTests()
  let test: TestServer
  beforeAll(async () => {
    test = await openTestServer(atEnd, {
      settings: { PALISADE_MAX_OWN_WRITES_PER_HOUR: '4', PALISADE_MAX_WRITES_PER_MINUTE: '40' },
    })
  })

  /** A member signed in by password, and sessions of a personal token of theirs. */
  async function open() {
    const { org, addMember } = await openOwner(test)
    const username = `${org}-bob`
    const bob = await addMember(username, 'member')
    const create = async (as: string) => {
      const made = await test.send('POST', MINE, { as, payload: TOKEN })
      return { status: made.statusCode, ...made.json<{ id: string; token: string }>() }
    }
    const session = ({ token }: { readonly token: string }) => test.signIn(username, token)
    const ask = async (as: string, payload: object = ACCESS) => {
      const asked = await test.send('POST', `/api/v1/orgs/${org}/access-requests`, { as, payload })
      return { status: asked.statusCode, ...asked.json<{ id: string }>() }
    }
    const stolen = await create(bob)
    return { org, username, bob, create, session, ask, stolen, thief: await session(stolen) }
  }

  const useUp = async (work: () => Promise<{ readonly status: number }>) => {
    const statuses = []
    for (let count = 0; count < 5; count += 1) statuses.push((await work()).status)
    expect(statuses.at(-1)).toBe(429)
    return statuses
  }

  it('leave its owner every change', async () => {
    const { org, bob, create, ask, stolen, thief } = await open()
    expect(await useUp(() => ask(thief, BAD))).toEqual([400, 400, 400, 400, 429])

    expect((await create(bob)).status).toBe(201)
    const { id } = await ask(bob)
    const withdraw = `/api/v1/orgs/${org}/access-requests/${id}/withdraw`
    expect((await test.send('POST', withdraw, { as: bob })).statusCode).toBe(200)
    expect((await test.send('DELETE', `${MINE}/${stolen.id}`, { as: bob })).statusCode).toBe(204)
    expect((await ask(thief)).status).toBe(401)
  })

  it('are those of all tokens that descend from it', async () => {
    const { create, session, thief } = await open()
    const child = await create(thief)
    const grandchild = await create(await session(child))

    const statuses = []
    for (const token of [child, grandchild, child])
      statuses.push((await create(await session(token))).status)

    expect(statuses).toEqual([201, 201, 429])
  })

  it('are four times as large for a person with several credentials', async () => {
    const { bob, create, session, stolen } = await open()
    const made = [await create(bob), await create(bob)]
    // Three of the password, and 12 of three tokens.
    for (const token of [stolen, ...made]) await useUp(async () => create(await session(token)))
    const last = await create(bob)

    expect(last.status).toBe(201)
    expect((await create(await session(last))).status).toBe(429)
  })

  it('never refuse to revoke, withdraw, decline or leave', async () => {
    const { org, username, bob, create, ask, stolen, thief } = await open()
    const { id } = await ask(bob)
    const inviting = await openOwner(test)
    const invited = `/api/v1/orgs/${inviting.org}/members`
    const payload = { username, role: 'member' }
    await test.send('POST', invited, { as: inviting.as, payload })
    await useUp(() => ask(bob, BAD))
    for (let count = 0; count < 41; count += 1)
      await test.send('PUT', '/api/v1/user/password', { as: bob, payload: {} })
    expect((await create(bob)).status).toBe(429)

    const send = async (method: 'POST' | 'DELETE', url: string) =>
      (await test.send(method, url, { as: bob })).statusCode
    const requests = `/api/v1/orgs/${org}/access-requests`
    expect(await send('POST', `${requests}/${id}/withdraw`)).toBe(200)
    expect(await send('DELETE', `/api/v1/user/invitations/${inviting.org}`)).toBe(204)
    expect(await send('DELETE', `${MINE}/${stolen.id}`)).toBe(204)
    expect(await send('DELETE', `/api/v1/orgs/${org}/members/${username}`)).toBe(204)
    expect((await ask(thief)).status).toBe(401)
  })

  it('let an owner reject and revoke access after every other change', async () => {
    const { org, ask, bob } = await open()
    const owner = await openOwner(test)
    await owner.addKnown(`${org}-bob`, 'member')
    const requests = `/api/v1/orgs/${owner.org}/access-requests`
    const asked = await test.send('POST', requests, { as: bob, payload: ACCESS })
    const other = await ask(bob)
    const { id } = asked.json<{ id: string }>()
    const teams = `/api/v1/orgs/${owner.org}/teams`
    const team = () => test.send('POST', teams, { as: owner.as, payload: {} })
    for (let count = 0; count < 40; count += 1) await team()
    expect((await team()).statusCode).toBe(429)

    const end = async (verb: string) => {
      const payload = { answer: 'no' }
      const answer = await test.send('POST', `${requests}/${id}/${verb}`, { as: owner.as, payload })
      return answer.statusCode
    }

    expect(await end('approve')).toBe(429)
    expect(await end('reject')).toBe(200)
    expect(await end('revoke')).toBe(409)
    expect(other.status).toBe(201)
  })

  it('let a request of its owner pass its slow bodies', async () => {
    const { bob, stolen, thief } = await open()
    if (!test.server.app.server.listening)
      await test.server.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = test.server.app.server.address() as AddressInfo
    const slow = Array.from({ length: 16 }, () => connect(port, '127.0.0.1'))
    onTestFinished(() => slow.forEach((socket) => socket.destroy()))
    for (const socket of slow)
      socket.write(
        `POST ${MINE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${thief}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 99\r\nExpect: 100-continue\r\n\r\n',
      )
    // The server asks for a body when it begins to read it.
    await Promise.all(slow.map((socket) => new Promise((begun) => socket.once('data', begun))))

    const url = `http://127.0.0.1:${port}${MINE}/${stolen.id}`
    const headers = { authorization: `Bearer ${bob}` }
    const signal = AbortSignal.timeout(20_000)
    expect((await fetch(url, { method: 'DELETE', headers, signal })).status).toBe(204)
  })
})
