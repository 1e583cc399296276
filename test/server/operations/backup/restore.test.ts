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
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import type { AccessRequestRecord } from '../../../../server/src/store/access-records.ts'
import {
  describeFaults,
  verifyOrganization,
} from '../../../../server/src/history/verify-organization.ts'
import { verifyHistory } from '../../../../server/src/history/verify-history.ts'
import { MIGRATIONS } from '../../../../server/src/store/sql/migrations/migrations.ts'
import { migrate } from '../../../../server/src/store/sqlite/migrate.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { alter, makeDatabase, newPath, organizationsOf } from './databases.ts'

const restoreRequest = (file: string, database: string, replace = false): RestoreRequest => ({
  file,
  database,
  replace,
  sha256: null,
  unverified: true,
  suffix: randomUUID(),
  nowMs: 0,
  onProgress: () => undefined,
})

const AT = '2026-11-21T08:00:00.000Z'
const LATER = '2026-12-01T08:00:00.000Z'
const REQUEST: AccessRequestRecord = {
  id: '',
  org: '',
  username: 'alice',
  device_id: null,
  state: 'pending',
  action: 'connect:tcp',
  resources: ['registry.example.com:443'],
  duration_seconds: 3600,
  once: false,
  reason: 'release',
  created_at: AT,
  due_at: LATER,
  decided_at: null,
  decided_by: null,
  answer: null,
  grant: null,
}
const APPROVAL = {
  state: 'approved',
  decided_at: AT,
  decided_by: 'user:ann',
  grant: { not_before: AT, expires_at: LATER, resources: ['registry.example.com:443'] },
} as const

describe('a restore into an empty directory', () => {
  it('creates a private database that a server can open', async () => {
    const file = await makeDatabase('acme', 'initech')
    const database = join(dirname(newPath()), 'data', 'server.db')

    const restored = await restore(restoreRequest(file, database))

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

    await restore(restoreRequest(file, database))

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
    await restore({ ...restoreRequest(file, database), nowMs: first })
    alter(database, `UPDATE organizations SET revision = revision + ${served}`)

    await restore({ ...restoreRequest(file, database, true), nowMs: first + 60_000 })

    expect(organizationsOf(database)[0]?.revision).toBeGreaterThan(first + served)
  })

  it('records the restore in every history', async () => {
    const file = await makeDatabase('acme', 'initech')
    const [acme] = organizationsOf(file)
    const database = newPath()
    const nowMs = Date.parse('2026-11-22T08:00:00.000Z')

    await restore({ ...restoreRequest(file, database), nowMs })

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

  it('ends grants and open requests, which may have been revoked since', async () => {
    const file = await makeDatabase('acme', 'initech')
    const request = (id: string, org: string) => ({ ...REQUEST, id, org })
    const backup = openSqliteStore(file)
    await createAuditedStore({ store: backup, now: () => new Date(AT) }).write(
      OPERATOR,
      async ({ accessRequests }) => {
        for (const [id, org] of [
          ['granted', 'acme'],
          ['waiting', 'initech'],
          ['over', 'acme'],
        ] as const)
          await accessRequests.insert(request(id, org))
        await accessRequests.update({ ...request('granted', 'acme'), ...APPROVAL }, 'pending')
        const over = { state: 'withdrawn', due_at: null, decided_at: AT } as const
        await accessRequests.update({ ...request('over', 'acme'), ...over }, 'pending')
      },
    )
    await backup.close()
    const database = newPath()
    const nowMs = Date.parse('2026-11-22T08:00:00.000Z')

    const { ended } = await restore({ ...restoreRequest(file, database), nowMs })

    expect(ended).toEqual({ grants: 1, requests: 1 })
    const store = openSqliteStore(database)
    const [granted, waiting, over] = await store.read(async ({ accessRequests }) => [
      await accessRequests.find('acme', 'granted'),
      await accessRequests.find('initech', 'waiting'),
      await accessRequests.find('acme', 'over'),
    ])
    const byOperator = { decided_by: 'operator', decided_at: '2026-11-22T08:00:00.000Z' }
    expect(granted).toMatchObject({ state: 'revoked', due_at: null, ...byOperator })
    expect(waiting).toMatchObject({ state: 'rejected', due_at: null, ...byOperator })
    expect(over).toMatchObject({ state: 'withdrawn', decided_at: AT })
    const faults = await store.read((reader) => verifyOrganization(reader, 'acme', { state: true }))
    expect(describeFaults(faults)).toEqual([])
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

    const { schema } = await restore(restoreRequest(file, database), newer)

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

    await expect(restore(restoreRequest(file, database))).rejects.toThrow(
      'use --force to move it aside',
    )
    expect(names(database)).toEqual(['initech'])

    const { aside } = await restore(restoreRequest(file, database, true))
    expect(names(database)).toEqual(['acme'])
    expect(names(String(aside))).toEqual(['initech'])
    expect(readdirSync(dirname(database))).toHaveLength(2)
  })

  it('is refused while a server uses the database, which is unaffected', async () => {
    const file = await makeDatabase('acme')
    const database = await makeDatabase('initech')
    const store = openSqliteStore(database)
    await store.ping()

    await expect(restore(restoreRequest(file, database, true))).rejects.toThrow(
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

    const { aside } = await restore(restoreRequest(file, database, true))

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

    await restore(restoreRequest(file, left, true))

    expect(organizationsOf(left).map(({ name }) => name)).toEqual(['acme'])
    expect(existsSync(`${left}-wal`)).toBe(false)
  })

  it('notices a log without its database', async () => {
    const file = await makeDatabase('acme')
    const database = newPath()
    writeFileSync(`${database}-wal`, 'what is left')

    await expect(restore(restoreRequest(file, database))).rejects.toThrow('use --force')
    const { aside } = await restore(restoreRequest(file, database, true))

    expect(readFileSync(`${String(aside)}-wal`, 'utf8')).toBe('what is left')
    expect(organizationsOf(database)).toHaveLength(1)
  })
})
