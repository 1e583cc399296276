import { PERMISSIONS, type CreatedAccessToken } from '@palisade/protocol'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createToken } from '../../../../server/src/organizations/access-token-service.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { createLog } from '../../../../server/src/operations/log/create-log.ts'
import { createRevocationFinish } from '../../../../server/src/identity/tokens/finish-revocations.ts'
import { openTestServer } from '../../test-server.ts'

const TOKENS = '/api/v1/orgs/acme/access-tokens'
const CHILDREN = 150

/**
 * A token of `acme` whose session created 150 others, and a session of each of the last two.
 */
async function open() {
  const test = await openTestServer()
  const { password } = await test.createOrganization('acme', 'alice')
  const alice = await test.signIn('alice', password ?? '')
  const now = () => new Date(test.now())
  const store = createAuditedStore({ store: test.store, now })
  const sources = {
    now,
    newId: () => randomUUID(),
    random: (bytes: number) => randomBytes(bytes),
  }
  const request = { name: 'ci', permissions: [...PERMISSIONS], expires_in_days: 1 }
  const owner = { kind: 'organization' as const, org: 'acme' }
  const by = (actor: string) => ({ actor, address: null, request_id: null })
  const { parent, children } = await store.write(by('user:alice'), async (writer) => {
    const origin = { owner, author: by('user:alice'), parent: null }
    const made = await createToken(sources, writer, request, origin)
    const found = await writer.accessTokens.find(made.id)
    const below = { owner, author: by(`organization:acme:${made.id}`), parent: found }
    const others: CreatedAccessToken[] = []
    for (let count = 0; count < CHILDREN; count += 1)
      others.push(await createToken(sources, writer, request, below))
    return { parent: made, children: others }
  })
  const finish = createRevocationFinish({ store, log: createLog(false) })
  const eventsOf = async (kind: string) => {
    const feed = (query: string) =>
      test.send('GET', `/api/v1/orgs/acme/events?kind=${kind}${query}`, { as: alice })
    const first = (await feed('')).json()
    const second = (await feed(`&cursor=${first.next_cursor}`)).json()
    return [...first.data, ...second.data]
  }
  return { test, alice, parent, children, finish, eventsOf }
}

describe('a token that created many others', () => {
  it('revokes all of them at once, with an event for each', async () => {
    const { test, alice, parent, children, finish, eventsOf } = await open()
    const last = children.at(-1)
    const session = await test.signIn('acme', last?.token ?? '')
    const statuses = async () => {
      const asked = await test.send('GET', TOKENS, { as: session })
      const signedIn = await test.exchange('acme', last?.token ?? '')
      const revoked = await test.send('DELETE', `${TOKENS}/${last?.id}`, { as: alice })
      return [asked.statusCode, signedIn.statusCode, revoked.statusCode]
    }
    expect((await test.send('GET', TOKENS, { as: session })).statusCode).toBe(200)

    const revoked = await test.send('DELETE', `${TOKENS}/${parent.id}`, { as: alice })

    expect(revoked.statusCode).toBe(204)
    expect(await statuses()).toEqual([401, 401, 404])
    const before = await eventsOf('access_token.revoked')
    expect(before).toHaveLength(101)
    expect(before.every(({ actor }) => actor === 'user:alice')).toBe(true)

    await finish.finishDue()

    expect(await statuses()).toEqual([401, 401, 404])
    const events = await eventsOf('access_token.revoked')
    expect(events.slice(101).map(({ actor }) => actor)).toEqual(
      Array(CHILDREN - 100).fill('server'),
    )
    expect(events).toHaveLength(1 + CHILDREN)
    const ids = new Set(events.map(({ subject }) => subject.id))
    expect(ids).toEqual(new Set([parent, ...children].map(({ id }) => id)))
    expect(new Set(events.map(({ after }) => after.revoked_at)).size).toBe(1)
    const list = await test.send('GET', TOKENS, { as: alice })
    expect(list.json().data).toEqual([])
  })

  it('is finished in transactions of a hundred, after which nothing is written', async () => {
    const { test, alice, parent, finish } = await open()
    await test.send('DELETE', `${TOKENS}/${parent.id}`, { as: alice })
    const headOf = async () =>
      (await test.store.read(({ events }) => events.head('acme')))?.sequence
    const before = (await headOf()) ?? 0

    await finish.finishDue()
    const after = await headOf()
    const generation = test.store.generation()
    await finish.finishDue()

    expect(after).toBe(before + CHILDREN - 100)
    expect(await headOf()).toBe(after)
    expect(test.store.generation()).toBe(generation)
  })
})
