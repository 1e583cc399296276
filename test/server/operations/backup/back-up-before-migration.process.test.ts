import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { runServerCommand, startServerProcess } from '../../server-process.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

it('a start on a database of its own schema creates no backup', async () => {
  const dataDir = temporaryDirectory()
  const settings = { PALISADE_DATA_DIR: dataDir }
  await runServerCommand(['init', '--org', 'acme', '--owner', 'alice'], settings)

  await (await startServerProcess(settings)).stop('SIGTERM')

  expect(readdirSync(dataDir)).toEqual(['evidence.db', 'server.db', 'server.db-ballast'])
})
