import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSqliteEvidence } from '../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { startThread } from '../../../server/src/platform/start-worker.ts'
import { appendRows, listAll, NOW_MS, row } from '../evidence/store/evidence-batches.ts'
import { fill, isRoot, mountDisk } from './small-disk.ts'

/** More batches than fit on the disk, and rows of each. */
const MOST_BATCHES = 500
const ROWS = 200

describe.skipIf(!isRoot)('a disk without room for evidence', () => {
  it('refuses a batch entirely, keeps those before, and later accepts it', async () => {
    const disk = mountDisk('4m')
    const path = join(disk, 'evidence.db')
    // Without its reserve, to meet the end of the disk.
    const open = () => openSqliteEvidence(path, startThread, () => {})
    const store = open()
    const rowsOf = (part: number) =>
      Array.from({ length: ROWS }, (_, index) =>
        row({
          last_ms: NOW_MS - part * ROWS - index,
          tuple: { path: `/srv/${part}/${'x'.repeat(200)}/${index}`, host: null, port: null },
        }),
      )
    await appendRows(store, rowsOf(0))
    fill(join(disk, 'ballast'))

    const refused = expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }) as Error
    const isWritten = (part: number) =>
      appendRows(store, rowsOf(part)).then(
        () => true,
        () => false,
      )
    let written = 1
    while (written < MOST_BATCHES && (await isWritten(written))) written += 1

    expect(written).toBeLessThan(MOST_BATCHES)
    await expect(appendRows(store, rowsOf(written))).rejects.toThrow(refused)
    expect((await store.chain('dev_1'))?.position.seq).toBe(written * ROWS)
    expect(await listAll(store, {}, { limit: 1000 })).toHaveLength(written * ROWS)

    rmSync(join(disk, 'ballast'))
    await appendRows(store, rowsOf(written))
    await store.close()
    const again = open()
    expect((await again.chain('dev_1'))?.position.seq).toBe((written + 1) * ROWS)
    const rows = await listAll(again, {}, { limit: 1000 })
    expect(rows).toHaveLength((written + 1) * ROWS)
    // Ids and tuples of the refused batches have left no trace.
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
    expect(new Set(rows.map(({ tuple }) => tuple.path)).size).toBe(rows.length)
    await again.close()
  })
})
