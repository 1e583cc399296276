import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import { rangeOf, type Range } from '../../measure/range.ts'
import { startServer } from './request-rows.ts'

export interface StartResult {
  /** From the start of the process to the first answer with status 200. */
  readonly start_ms: Range
  /** Resident bytes, two seconds later. */
  readonly idle_rss: Range
}

/** Time for the garbage of the start to be collected. */
const IDLE_MS = 2000

/** Starts the server with one small organization `runs` times. */
export async function measureStart(folder: string, runs: number): Promise<StartResult> {
  const directory = join(folder, 'start')
  await fillDataDirectory(directory, 'start', 1, {
    policies: 4,
    rulesPerPolicy: 20,
    editors: 2,
    devices: 10,
  })
  const startMs: number[] = []
  const idleRss: number[] = []
  for (let run = 0; run < runs; run += 1) {
    const server = await startServer(directory)
    startMs.push(server.startMs)
    await setTimeout(IDLE_MS)
    idleRss.push(server.rss().now)
    await server.stop()
  }
  return { start_ms: rangeOf(startMs), idle_rss: rangeOf(idleRss) }
}
