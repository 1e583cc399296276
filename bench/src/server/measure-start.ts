import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { rangeOf } from '../figures/range.ts'
import type { Rows } from '../figures/table.ts'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import { startServer } from './start-server.ts'

const SHAPE = { policies: 4, rulesPerPolicy: 20, editors: 2, devices: 10 } as const
/** Time for the garbage of the start to be collected. */
const IDLE_MS = 2000
const MIB = 1024 * 1024

/** Starts the server with one small organization several times. */
export async function measureStart(folder: string, runs: number): Promise<Rows> {
  const directory = join(folder, 'start')
  await fillDataDirectory(directory, 'start', 1, SHAPE)
  const startMs: number[] = []
  const idleMib: number[] = []
  for (let run = 0; run < runs; run += 1) {
    const server = await startServer(directory)
    startMs.push(server.startMs)
    await setTimeout(IDLE_MS)
    idleMib.push(server.rss().now / MIB)
    await server.stop()
  }
  return { server: { 'to first 200, ms': rangeOf(startMs), 'idle MiB': rangeOf(idleMib) } }
}
