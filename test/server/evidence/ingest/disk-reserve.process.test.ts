import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, inject, it } from 'vitest'
import { createDiskReserve } from '../../../../server/src/evidence/ingest/disk-reserve.ts'
import { isRoot, mountDisk } from '../../full-disk/small-disk.ts'
import { openOwner } from '../../owner.ts'
import { enrolTestDevice, headersOf } from '../../test-device.ts'
import { openTestServer } from '../../test-server.ts'
import { HEADER, linesOf, recordOf, textOf } from './batch-text.ts'

const MIB = 1024 * 1024

it.runIf(isRoot)(
  'records are refused before the disk is full, and taken again with room',
  async () => {
    const dataDir = mountDisk('10m')
    const file = join(dataDir, 'file')
    const requireRoom = createDiskReserve({ dataDir, databaseUrl: null })

    await requireRoom()
    writeFileSync(file, Buffer.alloc(8.5 * MIB))
    await requireRoom()
    writeFileSync(file, Buffer.alloc(9.5 * MIB))
    await expect(requireRoom()).rejects.toMatchObject({ status: 503 })
    await createDiskReserve({ dataDir, databaseUrl: 'postgres://elsewhere/' })()
    rmSync(file)
    await requireRoom()
  },
)

it.runIf(isRoot && inject('driver') === 'sqlite')(
  'a batch for a disk without room is refused with 503',
  async () => {
    const dataDir = mountDisk('10m')
    const file = join(dataDir, 'file')
    const test = await openTestServer(undefined, { dataDir })
    const owner = await openOwner(test, 'acme', 'alice')
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
    writeFileSync(file, Buffer.alloc(9.5 * MIB))

    const refused = await send()
    rmSync(file)
    const taken = await send()

    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '300'])
    expect(taken.statusCode, taken.body).toBe(200)
  },
)
