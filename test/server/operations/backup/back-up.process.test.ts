import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { backUp, type BackupRequest } from '../../../../server/src/operations/backup/back-up.ts'
import { makeDatabase, newPath } from './databases.ts'

const request = (database: string, file: string): BackupRequest => ({
  database,
  file,
  replace: false,
  suffix: randomUUID(),
  onProgress: () => undefined,
})

it('replaces only ordinary files, even with `replace`', async () => {
  const database = await makeDatabase('acme')
  const pipe = newPath('pipe')
  execFileSync('mkfifo', [pipe])
  const link = newPath('link')
  symlinkSync(pipe, link)
  const directory = newPath('directory')
  mkdirSync(directory)

  for (const taken of [pipe, link, directory]) {
    const backup = backUp({ ...request(database, taken), replace: true })
    await expect(backup).rejects.toThrow(`\`${taken}\` is not an ordinary file; name another`)
    expect(readdirSync(dirname(taken))).toHaveLength(1)
  }
  expect(statSync(pipe).isFIFO()).toBe(true)
})
