import Sqlite from 'better-sqlite3'
import { randomUUID } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { restore, type RestoreRequest } from '../../../../server/src/operations/backup/restore.ts'
import { REVISIONS_SKIPPED } from '../../../../server/src/operations/backup/raise-revisions.ts'
import { verifyHistory } from '../../../../server/src/history/verify-history.ts'
import { MIGRATIONS } from '../../../../server/src/store/sql/migrations/migrations.ts'
import { migrate } from '../../../../server/src/store/sqlite/migrate.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { alter, makeDatabase, newPath, organizationsOf } from './databases.ts'

const request = (file: string, database: string, replace = false): RestoreRequest => ({
  file,
  database,
  replace,
  sha256: null,
  unverified: true,
  suffix: randomUUID(),
  nowMs: 0,
  onProgress: () => undefined,
})

describe('a restore into an empty directory', () => {
  it('creates a private database that a server can open', async () => {
    const file = await makeDatabase('acme', 'initech')
    const database = join(dirname(newPath()), 'data', 'server.db')

    const restored = await restore(request(file, database))

    expect(restored).toMatchObject({
      database,
      aside: null,
      schema: { from: MIGRATIONS.length, to: MIGRATIONS.length },
    })
    expect(statSync(database).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(database)).mode & 0o777).toBe(0o700)
    expect(readdirSync(dirname(database))).toEqual(['server.db'])
    const store = openSqliteStore(database)
    expect(await store.read((reader) => reader.organizations.count())).toBe(2)
    await store.close()
  })

  it('raises revisions, so that devices and entity tags never see one twice', async () => {
    const file = await makeDatabase('acme')
    const database = newPath()

    await restore(request(file, database))

    expect(organizationsOf(database)).toEqual(
      organizationsOf(file).map(({ name, revision }) => ({
        name,
        revision: revision + REVISIONS_SKIPPED,
      })),
    )
  })

  it('raises revisions above those of an earlier restore of the same backup', async () => {
    const file = await makeDatabase('acme')
    const database = newPath()
    const first = Date.parse('2026-11-21T08:00:00Z')
    const served = 50
    await restore({ ...request(file, database), nowMs: first })
    alter(database, `UPDATE organizations SET revision = revision + ${served}`)

    await restore({ ...request(file, database, true), nowMs: first + 60_000 })

    expect(organizationsOf(database)[0]?.revision).toBeGreaterThan(first + served)
  })

  it('records the restore in every history', async () => {
    const file = await makeDatabase('acme', 'initech')
    const [acme] = organizationsOf(file)
    const database = newPath()
    const nowMs = Date.parse('2026-11-22T08:00:00.000Z')

    await restore({ ...request(file, database), nowMs })

    const store = openSqliteStore(database)
    for (const org of ['acme', 'initech'])
      expect(await store.read((reader) => verifyHistory(reader, org))).toMatchObject({
        intact: true,
      })
    const events = await store.read((reader) =>
      reader.events.list('acme', { after: 0, through: 1000, limit: 1000 }),
    )
    expect(events.at(-1)).toMatchObject({
      kind: 'organization.restored',
      at: '2026-11-22T08:00:00.000Z',
      actor: 'operator',
      subject: { id: 'acme', name: 'acme' },
      before: { revision: acme?.revision },
      after: { revision: nowMs },
      revision: nowMs,
    })
    await store.close()
  })

  it('migrates a copy of an older backup and does not change the backup', async () => {
    const file = newPath('old.db')
    const old = new Sqlite(file)
    migrate(old, MIGRATIONS)
    old.exec(
      `INSERT INTO organizations (name, entitled, revision, resolve_unlisted_names, created_at)
         VALUES ('acme', 1, 7, 0, '2026-11-21T08:00:00Z');
       INSERT INTO event_heads (org, sequence, hash) VALUES ('acme', 0, '${'0'.repeat(64)}')`,
    )
    old.close()
    const before = readFileSync(file)
    const database = newPath()

    const newer = [...MIGRATIONS, () => 'CREATE TABLE more (id TEXT)']

    const { schema } = await restore(request(file, database), newer)

    expect(schema).toEqual({ from: MIGRATIONS.length, to: newer.length })
    expect(organizationsOf(database)).toEqual([{ name: 'acme', revision: 7 + REVISIONS_SKIPPED }])
    expect(readFileSync(file).equals(before)).toBe(true)
  })
})

describe('a restore over a database', () => {
  it('is refused unless it may move the database aside', async () => {
    const file = await makeDatabase('acme')
    const database = await makeDatabase('initech')
    const names = (path: string) => organizationsOf(path).map(({ name }) => name)

    await expect(restore(request(file, database))).rejects.toThrow('use --force to move it aside')
    expect(names(database)).toEqual(['initech'])

    const { aside } = await restore(request(file, database, true))
    expect(names(database)).toEqual(['acme'])
    expect(names(String(aside))).toEqual(['initech'])
    expect(readdirSync(dirname(database))).toHaveLength(2)
  })

  it('is refused while a server uses the database, which is unaffected', async () => {
    const file = await makeDatabase('acme')
    const database = await makeDatabase('initech')
    const store = openSqliteStore(database)
    await store.ping()

    await expect(restore(request(file, database, true))).rejects.toThrow(
      'a server or command is using',
    )

    expect(await store.read((reader) => reader.organizations.find('initech'))).not.toBeNull()
    await store.transaction((writer) =>
      writer.users.insert({ username: 'bob', password_hash: null, created_at: 'now' }),
    )
    await store.close()
    expect(readdirSync(dirname(database))).toEqual(['server.db'])
  })

  it('moves an unreadable database aside', async () => {
    const file = await makeDatabase('acme')
    const database = newPath()
    writeFileSync(database, 'not a database '.repeat(1000))

    const { aside } = await restore(request(file, database, true))

    expect(readFileSync(String(aside), 'utf8')).toMatch(/^not a database/)
    expect(organizationsOf(database)).toHaveLength(1)
  })

  it('never replays an old write-ahead log into the new database', async () => {
    const file = await makeDatabase('acme')
    const database = await makeDatabase('initech')
    const store = openSqliteStore(database)
    await store.transaction((writer) =>
      writer.organizations.updateSettings('initech', { resolve_unlisted_names: true }),
    )
    const log = readFileSync(`${database}-wal`)
    const left = newPath()
    copyFileSync(database, left)
    await store.close()
    writeFileSync(`${left}-wal`, log)

    await restore(request(file, left, true))

    expect(organizationsOf(left).map(({ name }) => name)).toEqual(['acme'])
    expect(existsSync(`${left}-wal`)).toBe(false)
  })

  it('notices a log without its database', async () => {
    const file = await makeDatabase('acme')
    const database = newPath()
    writeFileSync(`${database}-wal`, 'what is left')

    await expect(restore(request(file, database))).rejects.toThrow('use --force')
    const { aside } = await restore(request(file, database, true))

    expect(readFileSync(`${String(aside)}-wal`, 'utf8')).toBe('what is left')
    expect(organizationsOf(database)).toHaveLength(1)
  })
})
