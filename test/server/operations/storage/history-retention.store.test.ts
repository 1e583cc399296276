import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import { createHistoryRetention } from '../../../../server/src/operations/storage/history-retention.ts'
import { verifyHistory } from '../../../../server/src/history/verify-history.ts'
import { createLog } from '../../../../server/src/operations/log/create-log.ts'
import { nextTurn } from '../../../../server/src/platform/next-turn.ts'
import { openTestServer } from '../../test-server.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** The organization `acme` with events of three days. */
async function open(days: number) {
  const test = await openTestServer(onTestFinished)
  const { username, password } = await test.createOrganization('acme', 'alice')
  const now = () => new Date(test.now())
  const store = createAuditedStore({ store: test.store, now })
  for (const id of ['one', 'two']) {
    test.advance(DAY_MS)
    await store.write(OPERATOR, (writer) => writer.teams.insert({ id, org: 'acme', name: id }))
  }
  const retention = createHistoryRetention({ store, days, maxMib: 0, now, log: createLog(false) })
  const feed = async (query = '') => {
    const as = await test.signIn(username, password ?? '')
    const response = await test.send('GET', `/api/v1/orgs/acme/events${query}`, { as })
    return { status: response.statusCode, body: response.json() }
  }
  const verify = () => test.store.read((reader) => verifyHistory(reader, 'acme'))
  return { test, retention, feed, verify }
}

describe('the retention of the history', () => {
  it('removes older events of every organization, with the server as the actor', async () => {
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

  it.each([
    [0, false],
    [1, true],
  ])('warns of a history that nearly fills %s MiB: %s', async (maxMib, isWarned) => {
    const { test } = await open(0)
    const now = () => new Date(test.now())
    const store = createAuditedStore({ store: test.store, now })
    await store.write(OPERATOR, async ({ policies }) => {
      const at = now().toISOString()
      const head = { id: 'pol_1', org: 'acme', name: 'p', teams: [] }
      await policies.insert({ ...head, created_at: at, updated_at: at })
      const resources = ['x'.repeat(1_100_000)]
      const rule = {
        id: 'rule_1',
        name: 'r',
        actions: ['read'],
        decision: 'deny',
        resources,
      } as const
      await policies.insertRule({ org: 'acme', policyId: 'pol_1', updated_at: at }, rule)
    })
    await test.createOrganization('rival', 'rita')
    const warnings: unknown[] = []
    const log = { ...createLog(false), warn: (told: unknown) => void warnings.push(told) }

    await createHistoryRetention({ store, days: 0, maxMib, now, log }).pruneDue()

    const warning = { org: 'acme', mib: 1, max_mib: 1 }
    expect(warnings).toEqual(isWarned ? [warning] : [])
  })

  it('removes nothing with 0 days, or if all events are newer', async () => {
    for (const days of [0, 30]) {
      const { retention, feed } = await open(days)

      await retention.pruneDue()

      const { body } = await feed()
      expect(body.data[0].sequence).toBe(1)
      expect(body).not.toHaveProperty('removed_through')
    }
  })

  it('answers 410 for a removed cursor, and continues after a later one', async () => {
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

describe('the hourly retention', () => {
  /**
   * A started retention of one day with a test clock; `logged` resolves at its next log line.
   */
  async function start(failures = 0) {
    const { test } = await open(1)
    const now = () => new Date(test.now())
    const store = createAuditedStore({ store: test.store, now })
    let tell: (line: string) => void = () => undefined
    const note = (level: string) => () => tell(level)
    let left = failures
    const retention = createHistoryRetention({
      store: {
        ...store,
        read(work) {
          if (left === 0) return store.read(work)
          left -= 1
          return Promise.reject(new Error('the disk is away'))
        },
      },
      days: 1,
      maxMib: 0,
      now,
      log: { info: note('info'), warn: note('warn'), error: note('error') },
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    retention.start()
    return {
      test,
      store,
      retention,
      logged: () => new Promise<string>((resolve) => (tell = resolve)),
      removed: async () =>
        (await test.store.read((reader) => reader.events.checkpoint('acme')))?.sequence ?? 0,
    }
  }

  it('removes events an hour after the start and every hour', async () => {
    const { test, store, retention, logged, removed } = await start()

    vi.advanceTimersByTime(HOUR_MS - 1)
    await nextTurn()
    expect(await removed()).toBe(0)
    let line = logged()
    vi.advanceTimersByTime(1)
    expect(await line).toBe('info')
    const first = await removed()
    expect(first).toBeGreaterThan(0)

    await store.write(OPERATOR, (writer) =>
      writer.teams.insert({ id: 'three', org: 'acme', name: 'three' }),
    )
    test.advance(2 * DAY_MS)
    await nextTurn()
    line = logged()
    vi.advanceTimersByTime(HOUR_MS)
    expect(await line).toBe('info')
    expect(await removed()).toBeGreaterThan(first)
    await retention.stop()
  })

  it('logs a failure and retries an hour later', async () => {
    const { retention, logged, removed } = await start(1)

    let line = logged()
    vi.advanceTimersByTime(HOUR_MS)
    expect(await line).toBe('error')
    expect(await removed()).toBe(0)
    await nextTurn()
    line = logged()
    vi.advanceTimersByTime(HOUR_MS)
    expect(await line).toBe('info')
    expect(await removed()).toBeGreaterThan(0)
    await retention.stop()
  })

  it('starts nothing after it was stopped, and completes a running removal', async () => {
    const stopped = await start()
    await stopped.retention.stop()
    vi.advanceTimersByTime(2 * HOUR_MS)
    await nextTurn()
    expect(await stopped.removed()).toBe(0)
    vi.useRealTimers()

    const begun = await start()
    vi.advanceTimersByTime(HOUR_MS)
    await begun.retention.stop()
    vi.advanceTimersByTime(2 * HOUR_MS)
    await nextTurn()
    expect(await begun.removed()).toBe(0)
  })
})
