import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createDiskReserve } from '../../../../server/src/evidence/ingest/disk-reserve.ts'
import { isRoot, mountDisk } from '../../full-disk/small-disk.ts'

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
