import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ViewRef } from '../../../../server/src/views/inspect-view.ts'
import { createViewPublisher } from '../../../../server/src/views/publication/view-publisher.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { StoreError } from '../../../../server/src/store/store-error.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import {
  NOW,
  HOUR_MS,
  TEAM,
  BASE,
  OF_TEAM,
  type Metadata,
  parse,
  policy,
  seed,
  follow,
  describeRaces,
} from './publisher-scene.ts'

const DAY_MS = 24 * HOUR_MS

describeRaces('on SQLite', () => {
  const path = join(temporaryDirectory(), 'server.db')
  return () => openSqliteStore(path)
})

describe('a publisher', () => {
  async function open() {
    const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    onTestFinished(() => store.close())
    await seed(store)
    let nowMs = Date.parse(NOW)
    const publisher = createViewPublisher({ store, now: () => new Date(nowMs) })
    const look = async (viewRef = BASE) => {
      const { body } = await publisher.current(viewRef)
      return { timestamp: parse(body), ...(await follow(store, viewRef, body)) }
    }
    return { store, publisher, look, advance: (ms: number) => (nowMs += ms) }
  }
  const versions = ({ timestamp, snapshot, targets }: Record<string, Metadata['signed']>) => [
    timestamp?.version,
    snapshot?.version,
    targets?.version,
  ]

  it('signs the timestamp hourly, the snapshot daily and the targets monthly', async () => {
    const { look, advance } = await open()
    const first = await look()

    advance(HOUR_MS)
    const hour = await look()
    expect(hour.timestamp.version).toBeGreaterThan(first.timestamp.version)
    expect(versions(hour).slice(1)).toEqual(versions(first).slice(1))

    advance(DAY_MS)
    const day = await look()
    expect(day.snapshot.version).toBeGreaterThan(hour.snapshot.version)
    expect(day.targets.version).toBe(hour.targets.version)

    advance(30 * DAY_MS)
    expect((await look()).targets.version).toBeGreaterThan(day.targets.version)
  })

  it('gives each view its own minute, and signs at most once an hour', async () => {
    const { look, advance } = await open()
    const changes: (readonly [number, boolean, boolean])[] = []
    let [base, ofTeam] = [await look(), await look(OF_TEAM)]
    for (let minute = 1; minute <= 120; minute += 1) {
      advance(60_000)
      const [nextBase, nextOfTeam] = [await look(), await look(OF_TEAM)]
      const changed = (before: typeof base, after: typeof base) =>
        before.timestamp.version !== after.timestamp.version
      changes.push([minute, changed(base, nextBase), changed(ofTeam, nextOfTeam)])
      ;[base, ofTeam] = [nextBase, nextOfTeam]
    }
    const minutesOf = (column: 1 | 2) =>
      changes.filter((change) => change[column]).map(([minute]) => minute)

    expect(minutesOf(1)).toHaveLength(2)
    expect(minutesOf(2)).toHaveLength(2)
    expect(minutesOf(1)).not.toEqual(minutesOf(2))
  })

  it('issues timestamps that expire after a day', async () => {
    const { look } = await open()

    expect((await look()).timestamp).toMatchObject({
      'x-issued': '2026-11-21T08:00:00Z',
      expires: '2026-11-22T08:00:00Z',
    })
  })

  it('signs again with the right time after a fast clock is corrected', async () => {
    const { look, advance } = await open()
    advance(3 * DAY_MS)
    const ahead = await look()

    advance(-3 * DAY_MS)
    const right = await look()

    expect(right.timestamp['x-issued']).toBe('2026-11-21T08:00:00Z')
    expect(right.timestamp.version).toBeGreaterThan(ahead.timestamp.version)
  })

  it('does not write for a change outside the view', async () => {
    const { store, look } = await open()
    const before = await look()
    await store.transaction((writer) => writer.policies.insert(policy('pol_2', [TEAM])))
    const generation = store.generation()

    expect(versions(await look())).toEqual(versions(before))
    expect(store.generation()).toBe(generation)
  })

  it('keeps superseded files for a day, for running updates', async () => {
    const { store, look, advance } = await open()
    const before = await look()
    const name = `${before.targets.version}.targets.json`
    const isThere = async () =>
      (await store.read((reader) => reader.views.file('acme', BASE.id, name, 0))) !== null
    await store.transaction((writer) => writer.policies.delete('acme', 'pol_1'))
    await look()

    expect(await isThere()).toBe(true)

    advance(DAY_MS + HOUR_MS)
    await look()
    // At the renewal of the next day it has been superseded for over a day.
    expect(await isThere()).toBe(false)
  })

  it('deletes a view without requests for a month, with its own documents', async () => {
    const { store, look, advance } = await open()
    await store.transaction((writer) => writer.policies.insert(policy('pol_2', [TEAM])))
    await look(OF_TEAM)
    const counts = () =>
      store.read(async (reader) => [
        (await reader.views.find('acme', OF_TEAM.id)) === null,
        (await reader.views.find('acme', BASE.id)) === null,
      ])

    for (let day = 0; day < 31; day += 1) {
      await look()
      advance(DAY_MS)
    }
    expect(await counts()).toEqual([false, false])
    advance(DAY_MS + HOUR_MS)
    await look()
    advance(DAY_MS + HOUR_MS)
    await look()

    expect(await counts()).toEqual([true, false])
    const again = await look(OF_TEAM)
    expect(Object.keys(again.targets.targets)).toEqual([
      'policies/pol_1.json',
      'policies/pol_2.json',
    ])
  })

  it('continues above the served versions if its store has lost them by a restore', async () => {
    const { store, look, advance } = await open()
    for (let change = 2; change < 6; change += 1) {
      await store.transaction((writer) => writer.policies.insert(policy(`pol_${change}`)))
      await look()
    }
    const served = await look()

    advance(60_000)
    const restored = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    onTestFinished(() => restored.close())
    await seed(restored)
    const now = () => new Date(Date.parse(NOW) + 60_000)
    const { body } = await createViewPublisher({ store: restored, now }).current(BASE)

    const after = { timestamp: parse(body), ...(await follow(restored, BASE, body)) }
    for (const [index, version] of versions(after).entries())
      expect(version).toBeGreaterThan(versions(served)[index] ?? Infinity)
  })

  it('refuses a view of more than 300 policies', async () => {
    const { store, publisher } = await open()
    await store.transaction(async (writer) => {
      for (let index = 0; index < 300; index += 1)
        await writer.policies.insert(policy(`pol_m${index}`))
    })

    await expect(publisher.current(BASE)).rejects.toMatchObject({
      status: 403,
      code: 'limit_exceeded',
    })
  })

  it('signs once for concurrent requests', async () => {
    const { store } = await open()
    const { counted, transactions } = countTransactions(store)
    const publisher = createViewPublisher({ store: counted, now: () => new Date(NOW) })

    const bodies = await Promise.all(
      Array.from({ length: 50 }, async () => (await publisher.current(BASE)).body),
    )

    expect(new Set(bodies).size).toBe(1)
    expect(transactions()).toBe(1)
  })

  it('signs a change of many views in few transactions, each view its own files', async () => {
    const { store } = await open()
    const { counted, transactions } = countTransactions(store)
    const publisher = createViewPublisher({ store: counted, now: () => new Date(NOW) })
    const viewRefs = Array.from({ length: 100 }, (_, index) => ({
      ...BASE,
      id: String(index).padStart(32, '0'),
    }))

    const bodies = await Promise.all(viewRefs.map((viewRef) => publisher.current(viewRef)))

    expect(transactions()).toBeLessThan(10)
    for (const [index, viewRef] of viewRefs.entries()) {
      const body = bodies[index]?.body ?? ''
      expect(parse(body)).toMatchObject({ 'x-view': viewRef.id })
      expect(Object.keys((await follow(store, viewRef, body)).targets.targets)).toHaveLength(1)
    }
  })

  it('signs a change before machines poll, except for views without polls for hours', async () => {
    const { store, publisher, advance } = await open()
    const [gone, lately] = [OF_TEAM, BASE]
    await publisher.current(gone)
    advance(3 * HOUR_MS)
    await publisher.current(lately)
    const versionOf = async ({ org, id }: ViewRef) =>
      (await store.read((reader) => reader.views.find(org, id)))?.targets_version ?? 0
    const before = { gone: await versionOf(gone), lately: await versionOf(lately) }
    await store.transaction((writer) => writer.policies.insert(policy('pol_2')))

    publisher.changed(['rival'])
    publisher.changed(['acme'])

    await expect.poll(() => versionOf(lately)).toBeGreaterThan(before.lately)
    await publisher.close()
    expect(await versionOf(gone)).toBe(before.gone)
  })

  it('starts no work after it was closed', async () => {
    const { store, publisher } = await open()
    await publisher.current(BASE)
    await store.transaction((writer) => writer.policies.insert(policy('pol_2')))
    const generation = store.generation()

    await publisher.close()
    publisher.changed(['acme'])
    await publisher.close()

    expect(store.generation()).toBe(generation)
  })

  it('signs every other view when one of them has more than 300 policies', async () => {
    const { store, publisher } = await open()
    await store.transaction(async (writer) => {
      for (let index = 0; index < 300; index += 1)
        await writer.policies.insert(policy(`pol_m${index}`, [TEAM]))
    })

    const [ofTeam, base] = await Promise.allSettled([
      publisher.current(OF_TEAM),
      publisher.current(BASE),
    ])

    expect(ofTeam).toMatchObject({ status: 'rejected', reason: { code: 'limit_exceeded' } })
    expect(base.status).toBe('fulfilled')
  })

  it('signs every other view when one of them cannot be written', async () => {
    const { store } = await open()
    const failing: Store = {
      ...store,
      transaction: (work) =>
        store.transaction((writer) =>
          work({
            ...writer,
            views: {
              ...writer.views,
              async publish(org, publications) {
                if (publications.some(({ view }) => view.id === OF_TEAM.id))
                  throw new StoreError('ERR_STORE_CONFLICT', 'no')
                await writer.views.publish(org, publications)
              },
            },
          }),
        ),
    }
    const publisher = createViewPublisher({ store: failing, now: () => new Date(NOW) })

    const [base, ofTeam] = await Promise.allSettled([
      publisher.current(BASE),
      publisher.current(OF_TEAM),
    ])

    expect(ofTeam).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORE_CONFLICT' } })
    if (base.status === 'rejected') throw base.reason
    await follow(store, BASE, base.value.body)
  })
})

function countTransactions(store: Store) {
  let transactions = 0
  const counted: Store = {
    ...store,
    transaction(work) {
      transactions += 1
      return store.transaction(work)
    },
  }
  return { counted, transactions: () => transactions }
}
