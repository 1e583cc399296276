import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import type { Figures } from './table.ts'

/** A whole run of one subject, as `results/SUBJECT.json` keeps it. */
export interface Results {
  readonly started_at: string
  readonly machine: ReturnType<typeof describeMachine>
  readonly figures: Figures
  /** Lines about the run, such as peers that were left out. */
  readonly notes: readonly string[]
}

const RESULTS = join(import.meta.dirname, '../../results')

export function readResults(subject: string): Results {
  return JSON.parse(readFileSync(pathOf(subject), 'utf8')) as Results
}

export function writeResults(subject: string, results: Results): void {
  mkdirSync(RESULTS, { recursive: true })
  writeFileSync(pathOf(subject), `${JSON.stringify(results, roundNumber, 1)}\n`)
}

export function writePlot(subject: string, svg: string): void {
  writeFileSync(join(RESULTS, `${subject}.svg`), svg)
}

function pathOf(subject: string): string {
  return join(RESULTS, `${subject}.json`)
}

/** Describes the machine of a run, for its results. */
export function describeMachine() {
  const processors = cpus()
  return {
    node: process.versions.node,
    v8: process.versions.v8,
    processor: processors[0]?.model ?? 'unknown',
    processors: processors.length,
    /** One-minute load average at the start. Above 0.5 the machine was busy. */
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  }
}

/** Rounds to four significant digits, which exceed the precision of the measurements. */
function roundNumber(_key: string, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isInteger(value)) return value
  return Number(value.toPrecision(4))
}
