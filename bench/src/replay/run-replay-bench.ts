import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withVerdicts } from '../goals/goal.ts'
import { atMost, type RangedGoal } from '../goals/ranged-goal.ts'
import { rangeOf, type Range } from '../measure/range.ts'
import { describeMachine } from '../report/describe-machine.ts'
import { formatNumber } from '../report/format-number.ts'
import { formatRange, formatRangedGoals } from '../report/ranged-goals-table.ts'
import { roundNumber } from '../report/write-results.ts'
import { FULL, GOAL_RECORDS, QUICK, type ReplayExtent } from './extent.ts'
import { fillEvidence, growEvidence } from './fill-evidence.ts'
import { plotReplay, type ReplayPoint } from './plot-replay.ts'
import type { ReplayReading } from './replay-child.ts'

const ROUNDS = 3
const MIB = 1024 * 1024

/** Measures replays of evidence of several sizes, and returns the exit status. */
export async function runReplayBench(
  { quick }: { readonly quick: boolean },
  results: string,
  tell: (line: string) => void,
): Promise<number> {
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const points = await measureAll(quick ? QUICK : FULL, tell)
  const goals = judgeReplay(points)
  process.stdout.write([...points.map(formatPoint), formatRangedGoals(goals)].join(''))
  // Only a full run may replace the recorded figures.
  if (quick) return 0
  const run = { mode: 'full', started_at, machine, goals: withVerdicts(goals), points }
  mkdirSync(results, { recursive: true })
  writeFileSync(join(results, 'replay.json'), `${JSON.stringify(run, roundNumber, 2)}\n`)
  writeFileSync(join(results, 'replay.svg'), plotReplay(run))
  tell('written: bench/results/replay.json, bench/results/replay.svg')
  return 0
}

async function measureAll(
  extent: ReplayExtent,
  tell: (line: string) => void,
): Promise<readonly ReplayPoint[]> {
  const points: ReplayPoint[] = []
  const folder = mkdtempSync(join(tmpdir(), 'palisade-bench-'))
  try {
    tell('filling')
    await fillEvidence(folder, extent)
    let from = extent.tuples
    for (const records of extent.records) {
      growEvidence(folder, extent.tuples, { from, to: records })
      from = records
      tell(`${records} records`)
      points.push(await measure(folder, extent, records))
    }
    return points
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Both in turns, so that other load of the machine meets both. */
async function measure(
  folder: string,
  extent: ReplayExtent,
  records: number,
): Promise<ReplayPoint> {
  const replays: ReplayReading[] = []
  const scans: ReplayReading[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    scans.push(await read(folder, 'scan', extent))
    replays.push(await read(folder, 'replay', extent))
  }
  return {
    records,
    newly_denied: replays[0]?.newly_denied ?? 0,
    wall_ms: range(replays, 'wall_ms'),
    cpu_ms: range(replays, 'cpu_ms'),
    scan_cpu_ms: range(scans, 'cpu_ms'),
    rss: range(replays, 'rss'),
  }
}

async function read(
  folder: string,
  what: 'replay' | 'scan',
  extent: ReplayExtent,
): Promise<ReplayReading> {
  const args = [join(import.meta.dirname, 'replay-child.ts'), folder, what, JSON.stringify(extent)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as ReplayReading
}

function range(readings: readonly ReplayReading[], member: keyof ReplayReading): Range {
  return rangeOf(readings.map((reading) => reading[member]))
}

/** Processor time, because another load of the machine would count as time of the replay. */
function judgeReplay(points: readonly ReplayPoint[]): RangedGoal[] {
  const point = points.find(({ records }) => records === GOAL_RECORDS)
  const scaled = (found: Range | undefined, by: number): Range | null =>
    found === undefined
      ? null
      : { median: found.median / by, least: found.least / by, most: found.most / by }
  return [
    atMost('replay of 10,000,000 records, one core', 's', 20, scaled(point?.cpu_ms, 1_000)),
    atMost('resident memory of it', 'MiB', 1_024, scaled(point?.rss, MIB)),
  ]
}

function formatPoint({ records, cpu_ms, scan_cpu_ms, wall_ms, rss, newly_denied }: ReplayPoint) {
  return (
    `${formatNumber(records)} records: ${formatNumber(cpu_ms.median)} ms of a processor ` +
    `(${formatRange(cpu_ms)}), ${formatNumber(cpu_ms.median / scan_cpu_ms.median)} x a scan, ` +
    `${formatNumber((cpu_ms.median * 1000) / records)} us a record, ` +
    `${formatNumber(wall_ms.median)} ms in all, ${formatNumber(rss.median / MIB)} MiB; ` +
    `${formatNumber(newly_denied)} newly denied\n`
  )
}
