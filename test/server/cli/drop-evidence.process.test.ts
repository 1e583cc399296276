import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqliteEvidence } from '../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { batch, listAll, row } from '../evidence/store/evidence-batches.ts'
import { fill, isRoot, mountDisk } from '../full-disk/small-disk.ts'
import { runServerCommand, startServerProcess } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

async function prepare(directory: string) {
  const settings = { PALISADE_DATA_DIR: directory }
  await runServerCommand(['init', '--org', 'acme', '--owner', 'alice'], settings)
  const run = (...args: string[]) => runServerCommand(['evidence', 'drop', ...args], settings)
  const store = () => openSqliteEvidence(join(directory, 'evidence.db'))
  return { run, store, settings }
}

it('`evidence drop` removes records of an organization, and leaves an event', async () => {
  const { run, store, settings } = await prepare(join(temporaryDirectory(), 'data'))
  const missing = await run('--org', 'acme')
  const evidence = store()
  await evidence.append(batch({ rows: [row(), row({ tuple: { host: 'b.example' } })] }))
  await evidence.close()

  const unknown = [await run('--org', 'rival'), await run('--org', 'acme', '--device', 'dev_9')]
  const dropped = await run('--org', 'acme')

  expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining('`evidence.db`')])
  expect(unknown.map(({ status }) => status)).toEqual([1, 1])
  expect(dropped).toMatchObject({ status: 0, stderr: '' })
  expect(dropped.stdout).toBe('2 decision records of `acme` removed\n')
  const after = store()
  expect(await listAll(after)).toEqual([])
  await after.close()
  const verified = await runServerCommand(['verify-history', '--state'], settings)
  expect([verified.status, verified.stderr]).toEqual([0, ''])
}, 120_000)

it('refuses the name of a former organization until its records are dropped', async () => {
  const { run, store, settings } = await prepare(join(temporaryDirectory(), 'data'))
  const evidence = store()
  await evidence.append(batch({ org: 'globex', rows: [row()] }))
  await evidence.close()
  const create = (org: string, owner: string) =>
    runServerCommand(['org', 'create', org, '--owner', owner], settings)

  const refused = await create('globex', 'eve')
  const allowed = await create('initech', 'mallory')
  const dropped = await run('--org', 'globex')
  const created = await create('globex', 'eve')

  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain(
    'there are decision records of a former organization `globex`; remove them first: ' +
      '`palisade-server evidence drop --org globex`',
  )
  expect([allowed.status, allowed.stderr]).toEqual([0, ''])
  expect(dropped).toMatchObject({ status: 0, stderr: '' })
  expect(dropped.stdout).toBe('1 decision records of `globex` removed\n')
  expect([created.status, created.stderr]).toEqual([0, ''])
}, 120_000)

it.runIf(isRoot)(
  '`evidence drop` works on a full disk, and gives room back',
  async () => {
    const disk = mountDisk('200m')
    const { run, store, settings } = await prepare(join(disk, 'data'))
    await startOnce(settings)
    const evidence = store()
    const rows = Array.from({ length: 5_000 }, (_, index) =>
      row({ tuple: { host: `${'x'.repeat(500)}${index}.example` } }),
    )
    await evidence.append(batch({ rows }))
    await evidence.close()
    fill(join(disk, 'filling'))

    const dropped = await run('--org', 'acme')

    expect(dropped).toMatchObject({ status: 0, stderr: '' })
    expect(dropped.stdout).toBe('5000 decision records of `acme` removed\n')
    await startOnce(settings)
  },
  240_000,
)

async function startOnce(settings: Readonly<Record<string, string>>): Promise<void> {
  const server = await startServerProcess(settings)
  expect((await server.stop('SIGTERM')).status).toBe(0)
}
