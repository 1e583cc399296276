import { join } from 'node:path'
import { divide, rangeOf } from '../figures/range.ts'
import type { Rows } from '../figures/table.ts'
import { takeTurns } from '../figures/take-turns.ts'
import { runNode } from '../process/run-command.ts'
import type { ReplayReading } from './replay-child.ts'
import type { Replayed } from './replay-job.ts'

const CHILD = join(import.meta.dirname, 'replay-child.ts')
const TIMEOUT_MS = 300_000
const MIB = 1024 * 1024

/**
 * Measures replays of all records beside a bare scan of them, each in a process of its own.
 * Processor time counts, because other load of the machine would count as time of the replay.
 */
export async function measureReplay(replayed: Replayed, rounds: number): Promise<Rows> {
  const read = (kind: 'scan' | 'replay') => async (): Promise<ReplayReading> => {
    const args = [CHILD, kind, JSON.stringify(replayed)]
    const { output } = await runNode(args, { timeoutMs: TIMEOUT_MS })
    return JSON.parse(output) as ReplayReading
  }
  const { scan, replay } = await takeTurns(rounds, { scan: read('scan'), replay: read('replay') })
  const row = (readings: readonly ReplayReading[]) => ({
    'CPU s': rangeOf(readings.map(({ cpuMs }) => cpuMs / 1000)),
    'whole s': rangeOf(readings.map(({ tookMs }) => tookMs / 1000)),
    MiB: rangeOf(readings.map(({ rss }) => rss / MIB)),
  })
  const cpuOf = (readings: readonly ReplayReading[]) => readings.map(({ cpuMs }) => cpuMs)
  const ratio = rangeOf(divide(cpuOf(replay), cpuOf(scan)))
  return { 'bare scan': row(scan), replay: { ...row(replay), 'x scan': ratio } }
}
