import { describe, expect, it, onTestFinished } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { createHistoryRetention } from '../../../server/src/history/retention.ts'
import { verifyHistory } from '../../../server/src/history/verify-history.ts'
import { createLog } from '../../../server/src/log/create-log.ts'
import { openTestServer } from '../test-server.ts'

const DAY_MS = 86_400_000

/** `acme`, and its events of three days. */
async function open(days: number) {
  const test = await openTestServer(onTestFinished)
  const { username, password } = await test.createOrganization('acme', 'alice')
  const now = () => new Date(test.now())
  const store = createAuditedStore({ store: test.store, now })
  for (const id of ['one', 'two']) {
    test.advance(DAY_MS)
    await store.write(OPERATOR, (writer) => writer.teams.insert({ id, org: 'acme', name: id }))
  }
  const retention = createHistoryRetention({ store, days, now, log: createLog(false) })
  const feed = async (query = '') => {
    const as = await test.signIn(username, password ?? '')
    const response = await test.send('GET', `/api/v1/orgs/acme/events${query}`, { as })
    return { status: response.statusCode, body: response.json() }
  }
  const verify = () => test.store.read((reader) => verifyHistory(reader, 'acme'))
  return { test, retention, feed, verify }
}

describe('the retention of the history', () => {
  it('removes what is older, for every organization, and says so as the server', async () => {
    const { test, retention, feed, verify } = await open(1)
    await test.createOrganization('rival', 'rita')

    test.advance(1000)
    await retention.pruneDue()

    const { body } = await feed()
    expect(body.removed_through).toBeGreaterThan(0)
    expect(body.data[0].sequence).toBe(body.removed_through + 1)
    expect(body.data.map(({ kind }: { kind: string }) => kind)).toContain('history.pruned')
    expect(body.data.at(-1)).toMatchObject({ kind: 'history.pruned', actor: 'server' })
    expect(await verify()).toMatchObject({ intact: true, removed_through: body.removed_through })
    const rival = await test.store.read((reader) => reader.events.checkpoint('rival'))
    expect(rival).toBeNull()
  })

  it('removes nothing where it is 0, or everything is newer', async () => {
    for (const days of [0, 30]) {
      const { retention, feed } = await open(days)

      await retention.pruneDue()

      const { body } = await feed()
      expect(body.data[0].sequence).toBe(1)
      expect(body).not.toHaveProperty('removed_through')
    }
  })

  it('answers 410 to a cursor before it, and goes on after one that is behind it', async () => {
    const { test, retention, feed } = await open(1)
    const first = await feed('?page_size=1')
    const all = await feed()
    test.advance(1000)
    await retention.pruneDue()

    const before = await feed(`?cursor=${first.body.next_cursor}`)
    const after = await feed(`?cursor=${all.body.next_cursor}`)

    expect(before).toMatchObject({
      status: 410,
      body: { error: { code: 'not_found', reason: 'history_removed', field: 'cursor' } },
    })
    expect(after).toMatchObject({ status: 200, body: { data: [{ kind: 'history.pruned' }] } })
  })
})
