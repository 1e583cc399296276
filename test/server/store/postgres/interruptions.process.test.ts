import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { parseDatabaseUrl } from '../../../../server/src/store/postgres/database-url.ts'
import {
  openPostgresStore,
  withConnection,
} from '../../../../server/src/store/postgres/open-postgres-store.ts'
import { MIGRATIONS } from '../../../../server/src/store/sql/migrations/migrations.ts'
import { beginWriting } from '../../../../server/src/store/postgres/transactions.ts'
import type { Store, StoreWriter } from '../../../../server/src/store/store.ts'
import {
  administer,
  createCluster,
  startCluster,
  stopCluster,
  urlOf,
  type Cluster,
} from '../../postgres/cluster.ts'
import type { BorrowedDatabase } from '../../postgres/database-pool.ts'
import { hasPostgres, place, testDatabase } from '../../postgres/test-postgres.ts'

const UNAVAILABLE = { code: 'ERR_STORE_UNAVAILABLE' }
const insert = (name: string) => (writer: StoreWriter) =>
  writer.secrets.insert(name, new Uint8Array(1))

describe.skipIf(!hasPostgres())('a PostgreSQL store', () => {
  let database: BorrowedDatabase
  let store: Store

  beforeEach(async () => {
    database = await testDatabase()
    store = await openPostgresStore(database.url)
    onTestFinished(() => store.close())
  })

  const find = (name: string) => store.read((reader) => reader.secrets.find(name))

  it('rolls back a transaction whose connection is terminated, and continues', async () => {
    const attempt = store.transaction(async (writer) => {
      await insert('lost')(writer)
      await database.cutConnections()
      await insert('lost too')(writer)
    })

    await expect(attempt).rejects.toMatchObject(UNAVAILABLE)
    expect(await find('lost')).toBeNull()
    await store.transaction(insert('kept'))
    expect(await find('kept')).not.toBeNull()
  })

  it('rolls back a transaction whose connection is terminated before its commit', async () => {
    const attempt = store.transaction(async (writer) => {
      await insert('lost')(writer)
      await database.cutConnections()
    })

    await expect(attempt).rejects.toMatchObject(UNAVAILABLE)
    expect(await find('lost')).toBeNull()
  })

  it('throws the error of the work even if the connection is lost', async () => {
    const error = new Error('stop')
    const attempt = store.transaction(async (writer) => {
      await insert('lost')(writer)
      await database.cutConnections()
      throw error
    })

    await expect(attempt).rejects.toBe(error)
    expect(await find('lost')).toBeNull()
  })

  it('does not commit if the work has caught a conflict', async () => {
    await store.transaction(insert('taken'))
    const attempt = store.transaction(async (writer) => {
      await insert('hidden')(writer)
      await insert('taken')(writer).catch(() => undefined)
    })

    await expect(attempt).rejects.toMatchObject(UNAVAILABLE)
    expect(await find('hidden')).toBeNull()
  })

  it('answers at once after its idle connections were terminated', async () => {
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => find(name)))
    await store.transaction(insert('a'))

    await database.cutConnections()

    expect(await Promise.all(['a', 'b', 'c', 'd'].map((name) => find(name)))).toEqual([
      expect.anything(),
      null,
      null,
      null,
    ])
    await store.transaction(insert('b'))
    await store.ping()
  })

  it('is durable even if the database is configured not to be', async () => {
    const address = parseDatabaseUrl(database.url)
    const [setting] = await withConnection(address, { mayTakeLong: false }, async (connection) => {
      await connection.execute('SET synchronous_commit = off')
      await beginWriting(connection, MIGRATIONS.length, performance.now() + 1_000)
      return connection.execute('SHOW synchronous_commit')
    })

    expect(setting).toEqual({ synchronous_commit: 'on' })
  })

  it('makes a writer of another process wait, and refuses it after five seconds', async () => {
    const other = await openPostgresStore(database.url)
    onTestFinished(() => other.close())
    const mayEnd = Promise.withResolvers<void>()
    const entered = Promise.withResolvers<void>()
    const long = other.transaction(async (writer) => {
      await insert('long')(writer)
      entered.resolve()
      await mayEnd.promise
    })
    await entered.promise
    const startedAt = performance.now()

    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) => store.transaction(insert(`${index}`))),
    )

    // One after the other they would take a minute.
    expect(performance.now() - startedAt).toBeLessThan(30_000)
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: UNAVAILABLE })
    expect(await find('long')).toBeNull()
    mayEnd.resolve()
    await long
    await store.transaction(insert('a'))
  })
})

describe.skipIf(!hasPostgres())('a restart of the database', () => {
  let cluster: Cluster
  let directory: string
  let binaries: string

  beforeAll(async () => {
    const [native, parent] = place()
    binaries = native
    directory = join(parent, 'outage')
    await createCluster(binaries, directory)
    cluster = await startCluster(binaries, directory)
    await administer(directory, 'postgres', 'CREATE DATABASE outage')
  })
  afterAll(() => stopCluster(cluster))

  it('makes the store unavailable and invalidates its caches', async () => {
    const store = await openPostgresStore(urlOf(directory, 'outage'))
    onTestFinished(() => store.close())
    await store.transaction(insert('before'))
    const before = store.generation()

    await stopCluster(cluster)

    for (const attempt of [
      () => store.ping(),
      () => store.read((reader) => reader.secrets.find('before')),
      () => store.transaction(insert('during')),
    ])
      await expect(attempt()).rejects.toMatchObject(UNAVAILABLE)
    const stoppedAt = performance.now()
    await expect
      .poll(() => store.generation() === store.generation(), { timeout: 300_000 })
      .toBe(false)
    expect(performance.now() - stoppedAt).toBeLessThan(30_000)

    cluster = await startCluster(binaries, directory)
    await store.transaction(insert('after'))
    expect(await store.read((reader) => reader.secrets.find('before'))).not.toBeNull()
    expect(await store.read((reader) => reader.secrets.find('during'))).toBeNull()
    await expect
      .poll(() => store.generation() === store.generation(), { timeout: 300_000 })
      .toBe(true)
    expect(store.generation()).toBeGreaterThan(before)
  })
})
