import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { restore, type RestoreRequest } from '../../../../server/src/operations/backup/restore.ts'
import { alter, makeDatabase, newPath } from './databases.ts'

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
  it('refuses an invalid backup and creates nothing', async () => {
    const damaged = await makeDatabase('acme')
    writeFileSync(damaged, readFileSync(damaged).fill(0xff, 3 * 4096, 6 * 4096))
    const cut = await makeDatabase('acme')
    writeFileSync(cut, readFileSync(cut).subarray(0, 5 * 4096))
    const text = newPath('text')
    writeFileSync(text, 'not a database '.repeat(1000))
    const foreign = newPath()
    alter(foreign, 'CREATE TABLE places (url TEXT)')
    const newer = await makeDatabase('acme')
    alter(newer, 'PRAGMA user_version = 1000')
    const pipe = newPath('pipe')
    execFileSync('mkfifo', [pipe])
    const triggered = await makeDatabase('acme')
    alter(triggered, 'CREATE TRIGGER back AFTER DELETE ON memberships BEGIN SELECT 1; END')
    const directory = join(dirname(newPath()), 'data')

    for (const [file, reason] of [
      [triggered, 'contains the trigger `back`'],
      [newPath('absent'), 'does not exist'],
      [pipe, 'is not an ordinary file'],
      [damaged, 'is damaged'],
      [cut, 'is damaged'],
      [text, 'is not a database'],
      [foreign, 'is not a database of palisade-server'],
      [newer, 'has schema 1000 and this release knows'],
    ] as const)
      await expect(restore(request(file, join(directory, 'server.db'))), reason).rejects.toThrow(
        reason,
      )
    expect(existsSync(directory)).toBe(false)
  })
})

describe('a restore over a database', () => {
  it('is refused over anything but an ordinary file', async () => {
    const file = await makeDatabase('acme')
    const database = newPath()
    execFileSync('mkfifo', [database])

    await expect(restore(request(file, database, true))).rejects.toThrow('is not an ordinary file')

    expect(statSync(database).isFIFO()).toBe(true)
    expect(readdirSync(dirname(database))).toEqual(['server.db'])
  })
})
