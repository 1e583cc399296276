import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, inject, it, onTestFinished } from 'vitest'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { isRoot, mountDisk } from '../../full-disk/small-disk.ts'
import { openOwner } from '../../owner.ts'
import { enrolTestDevice, headersOf } from '../../test-device.ts'
import { openTestServer } from '../../test-server.ts'
import { batch, row, NOW_MS } from '../store/evidence-batches.ts'
import { HEADER, linesOf, recordOf, textOf } from './batch-text.ts'

const MIB = 1024 * 1024

it.runIf(isRoot && inject('driver') === 'sqlite')(
  'a batch for a disk without room is refused with 503, and taken again with room',
  async () => {
    const dataDir = mountDisk('10m')
    const file = join(dataDir, 'file')
    const test = await openTestServer(undefined, { dataDir })
    const owner = await openOwner(test, 'acme', 'alice')
    await owner.uploadEverything()
    const device = await enrolTestDevice(test, owner.as, 'acme', { name: 'laptop', user: 'alice' })
    const url = '/api/v1/device/records'
    const send = () =>
      test.server.app.inject({
        method: 'POST',
        url,
        headers: {
          ...headersOf(device, 'POST', url),
          'content-type': 'application/x-ndjson',
          'content-encoding': 'gzip',
        },
        payload: gzipSync(textOf(HEADER, linesOf([recordOf()]))),
      })
    writeFileSync(file, Buffer.alloc(9.2 * MIB))

    const refused = await send()
    rmSync(file)
    const taken = await send()

    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '300'])
    expect(taken.statusCode, taken.body).toBe(200)
  },
)

it.runIf(isRoot)(
  'many batches at once leave the reserve of the disk, and all that was taken is there',
  async () => {
    const disk = mountDisk('40m')
    const evidence = openSqliteEvidence(join(disk, 'evidence.db'))
    onTestFinished(() => evidence.close())
    const rowsOf = (machine: number) =>
      Array.from({ length: 1_000 }, (_, index) =>
        row({
          last_ms: NOW_MS - index,
          tuple: { host: `${'x'.repeat(800)}${machine}.${index}` },
        }),
      )

    const outcomes = await Promise.allSettled(
      Array.from({ length: 24 }, (_, machine) =>
        evidence.append(batch({ device_id: `dev_${machine}`, rows: rowsOf(machine) })),
      ),
    )

    const refused = outcomes.filter(({ status }) => status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    for (const outcome of refused)
      expect(outcome).toMatchObject({ reason: { code: 'ERR_STORE_FULL' } })
    const taken = outcomes.length - refused.length
    expect(await evidence.days()).toEqual([{ day: expect.any(Number), rows: taken * 1_000 }])
    // Policies are on the same disk.
    writeFileSync(join(disk, 'policies'), Buffer.alloc(2 * MIB))
  },
  120_000,
)
