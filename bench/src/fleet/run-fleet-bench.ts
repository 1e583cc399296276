import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { roundNumber } from '../report/write-results.ts'
import { planFleet } from './extent.ts'
import { judgeFleet } from './judge-fleet.ts'
import { plotFleet } from './report/plot-fleet.ts'
import { formatFleet } from './report/table.ts'
import { runFleet, type FleetRun } from './run-fleet.ts'
import { isFullRun, summarize } from './summarize.ts'

/** Runs a fleet, prints the summary and returns the exit status. */
export async function runFleetBench(
  { agents, minutes }: { readonly agents: number; readonly minutes: number },
  results: string,
  tell: (line: string) => void,
): Promise<number> {
  const run = await runFleet(planFleet(agents, minutes), tell)
  process.stdout.write(formatFleet(summarize(run), judgeFleet(summarize(run))))
  if (isFullRun(run)) {
    writeFleet(results, run)
    tell('written: bench/results/fleet.json, bench/results/fleet.svg')
  }
  return 0
}

/** Writes one bucket per ten seconds; single seconds add no detail. */
export function writeFleet(folder: string, run: FleetRun): void {
  const { started_at, machine, extent, marks } = run
  const { buckets, ...summary } = summarize(run)
  const goals = judgeFleet({ ...summary, buckets })
  const found = { started_at, machine, extent, marks, goals, summary, buckets }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'fleet.json'), `${JSON.stringify(found, roundNumber, 2)}\n`)
  writeFileSync(join(folder, 'fleet.svg'), plotFleet(run, { ...summary, buckets }))
}
