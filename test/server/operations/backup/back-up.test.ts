import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { backUp, type BackupRequest } from '../../../../server/src/operations/backup/back-up.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { addOrganization, alter, makeDatabase, newPath, organizationsOf } from './databases.ts'

const request = (database: string, file: string): BackupRequest => ({
  database,
  file,
  replace: false,
  suffix: randomUUID(),
  onProgress: () => undefined,
})

it('creates one private file with the content of the database', async () => {
  const database = await makeDatabase('acme', 'initech')
  const file = newPath('backup.db')

  const backup = await backUp(request(database, file))

  expect(organizationsOf(file)).toEqual(organizationsOf(database))
  expect(backup).toMatchObject({ file, bytes: statSync(file).size, rows: expect.any(Number) })
  expect(backup.sha256).toMatch(/^[0-9a-f]{64}$/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(file))).toEqual(['backup.db'])
})

it('is one snapshot while a server continues to write', async () => {
  const path = newPath()
  const store = openSqliteStore(path)
  const made: string[] = []
  const add = async (index: number) => {
    await addOrganization(store, `org-${index}`)
    made.push(`org-${index}`)
  }
  for (let index = 100; index < 150; index += 1) await add(index)
  const before = made.length
  let writes: Promise<void> = Promise.resolve()
  let next = 150
  const file = newPath('backup.db')

  await backUp({
    ...request(path, file),
    // A write between any two steps of the copy.
    onProgress: () => {
      writes = writes.then(() => add(next++))
    },
  })
  await writes
  await add(next++)

  const names = organizationsOf(file).map(({ name }) => name)
  expect(names.length).toBeGreaterThanOrEqual(before)
  expect(names).toEqual(made.slice(0, names.length))
  await store.close()
})

it('replaces no existing file or link without `replace`', async () => {
  const database = await makeDatabase('acme')
  const file = newPath('backup.db')
  writeFileSync(file, 'mine')
  const link = newPath('link.db')
  symlinkSync('/nowhere', link)

  for (const taken of [file, link])
    await expect(backUp(request(database, taken))).rejects.toThrow('exists already; use --force')
  expect(readFileSync(file, 'utf8')).toBe('mine')

  await backUp({ ...request(database, file), replace: true })
  expect(organizationsOf(file)).toHaveLength(1)
})

it('never replaces the database or its log', async () => {
  const database = await makeDatabase('acme')
  const byLink = newPath('data')
  symlinkSync(dirname(database), byLink)
  const store = openSqliteStore(database)
  const own = ['', '-wal', '-shm', '-journal'].map((suffix) => `${database}${suffix}`)

  for (const file of [...own, join(byLink, 'server.db'), join(byLink, 'server.db-wal')])
    await expect(backUp({ ...request(database, file), replace: true }), file).rejects.toThrow(
      'belongs to the database',
    )

  await addOrganization(store, 'initech')
  await store.close()
  expect(organizationsOf(database)).toHaveLength(2)
})

it('refuses a damaged or foreign database, and leaves no file behind', async () => {
  const damaged = await makeDatabase('acme')
  writeFileSync(damaged, readFileSync(damaged).fill(0xff, 3 * 4096, 6 * 4096))
  const foreign = newPath()
  alter(foreign, 'CREATE TABLE organizations (name TEXT)')
  const orphaned = await makeDatabase('acme')
  alter(orphaned, "UPDATE memberships SET org = 'gone'")
  const newer = await makeDatabase('acme')
  alter(newer, 'PRAGMA user_version = 1000')
  const file = newPath('backup.db')

  for (const [database, reason] of [
    [newPath('absent.db'), 'does not exist'],
    [damaged, 'is damaged'],
    [foreign, 'is not a database of palisade-server'],
    [orphaned, 'a row of `memberships` has a dangling reference'],
    [newer, 'has schema 1000 and this release knows'],
  ] as const)
    await expect(backUp(request(database, file)), reason).rejects.toThrow(reason)
  await expect(backUp(request(newer, '/nowhere/backup.db'))).rejects.toThrow(
    'there is no directory `/nowhere`',
  )
  expect(readdirSync(dirname(file))).toEqual([])
})
