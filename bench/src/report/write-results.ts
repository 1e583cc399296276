import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plotDecide } from './plot.ts'
import type { Results } from './results.ts'

/** Writes `latest.json` and `decide.svg` into `folder`. */
export function writeResults(folder: string, run: Results): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'latest.json'), `${JSON.stringify(run, roundNumber, 2)}\n`)
  writeFileSync(join(folder, 'decide.svg'), plotDecide(run))
}

/** Rounds to four significant digits, which exceed the precision of the measurements. */
export function roundNumber(_key: string, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isInteger(value)) return value
  return Number(value.toPrecision(4))
}
