import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backUp } from '../../../../server/src/operations/backup/back-up.ts'
import { restore, type RestoreRequest } from '../../../../server/src/operations/backup/restore.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { AT, POLICY, RULE } from '../../history/audit/audited-records.ts'
import {
  alter,
  copyDatabase,
  makeDatabase,
  makeDatabaseAt,
  newPath,
  organizationsOf,
} from './databases.ts'

const COPIES = 40
const SEAL_BYTES = 88
const NOW = new Date('2026-11-21T08:00:00.000Z')

let source: string
let backup: string
let sha256: string

/** Throws the errors of `restore`. */
const restored = (file: string, options: Partial<RestoreRequest> = {}) =>
  restore({
    file,
    database: newPath(),
    replace: false,
    sha256: null,
    unverified: false,
    suffix: randomUUID(),
    nowMs: 0,
    onProgress: () => undefined,
    ...options,
  })

const backedUp = (database: string, file = newPath('backup.db')) =>
  backUp({
    database,
    file,
    replace: false,
    suffix: randomUUID(),
    onProgress: () => undefined,
  })

beforeAll(async () => {
  source = await makeDatabaseAt(newPath('source.db', afterAll), ['acme', 'initech'])
  const store = openSqliteStore(source)
  await createAuditedStore({ store, now: () => NOW }).write(OPERATOR, async (writer) => {
    await writer.policies.insert(POLICY)
    await writer.policies.insertRule(AT, RULE)
  })
  await store.close()
  const made = await backedUp(source, newPath('backup.db', afterAll))
  backup = made.file
  sha256 = made.sha256
})

/** A copy of the backup with `length` bytes at `offset` inverted. */
function damage(offset: number, length: number): string {
  const bytes = readFileSync(backup)
  for (let index = offset; index < offset + length; index += 1)
    bytes[index] = (bytes[index] ?? 0) ^ 0xff
  const copy = newPath('damaged.db')
  writeFileSync(copy, bytes)
  return copy
}

describe('a sealed backup', () => {
  it('is restored, with or without the digest that `backup` printed', async () => {
    expect(sha256).toBe(createHash('sha256').update(readFileSync(backup)).digest('hex'))

    expect(await restored(backup)).toMatchObject({ faults: [] })
    expect(await restored(backup, { sha256 })).toMatchObject({ faults: [] })
  })

  it('is refused with inverted bytes at any offset, and replaces nothing', async () => {
    const database = await makeDatabase('live')
    const size = readFileSync(backup).byteLength
    for (let copy = 0; copy < COPIES; copy += 1) {
      const length = copy % 2 === 0 ? 1 : 16
      const offset = Math.floor(((size - length) * copy) / (COPIES - 1))
      const attempt = restored(damage(offset, length), { database, replace: true })
      await expect(attempt, `${length} at ${offset}`).rejects.toThrow(/is damaged|has no seal/)
    }
    expect(readdirSync(dirname(database))).toEqual(['server.db'])
    expect(organizationsOf(database).map(({ name }) => name)).toEqual(['live'])
  })

  it('is refused if it was truncated or does not have the given digest', async () => {
    const cut = damage(0, 0)
    truncateSync(cut, readFileSync(cut).byteLength - 1)

    await expect(restored(cut)).rejects.toThrow('has no seal of `backup`')
    await expect(restored(backup, { sha256: '0'.repeat(64), unverified: true })).rejects.toThrow(
      `has the SHA-256 ${sha256}; it is damaged, or not the expected file`,
    )
  })

  it('is restored with inverted bytes only as unverified, with a report', async () => {
    const { faults } = await restored(damage(readFileSync(backup).byteLength - 10, 1), {
      unverified: true,
    })

    expect(faults).toEqual([expect.stringContaining('is damaged: its content')])
  })
})

describe('a copy without a seal', () => {
  it('is restored with its digest, or as unverified', async () => {
    const copy = damage(0, 0)
    truncateSync(copy, readFileSync(copy).byteLength - SEAL_BYTES)
    const digest = createHash('sha256').update(readFileSync(copy)).digest('hex')

    await expect(restored(copy)).rejects.toThrow('has no seal of `backup`')
    expect(await restored(copy, { sha256: digest })).toMatchObject({ faults: [] })
    expect(await restored(copy, { unverified: true })).toMatchObject({
      faults: [expect.stringContaining('has no seal')],
    })
  })
})

describe('an intact backup of a tampered database', () => {
  it.each([
    [
      'in its history',
      "UPDATE events SET actor = 'user:x' WHERE org = 'acme' AND sequence = 2",
      'history of `acme`: event 2 was edited',
    ],
    [
      'without an event',
      `UPDATE rules SET resources = '["**"]'`,
      '`acme`: rule `web`: `resources` not as in event',
    ],
  ])('%s is restored only as unverified', async (_title, statement, fault) => {
    const tampered = copyDatabase(source)
    alter(tampered, statement)
    const { file } = await backedUp(tampered)
    const database = newPath()

    await expect(restored(file, { database })).rejects.toThrow(fault)
    expect(readdirSync(dirname(database))).toEqual([])

    expect(await restored(file, { database, unverified: true })).toMatchObject({
      faults: [expect.stringContaining(fault)],
    })
  })
})
