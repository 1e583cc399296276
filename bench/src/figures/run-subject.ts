import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GOALS } from '../goals.ts'
import { formatGoals } from './goal.ts'
import { updateReadme } from './readme.ts'
import { describeMachine, writePlot, writeResults } from './results.ts'
import type { Run, Subject } from './subject.ts'
import { formatRows } from './table.ts'

/** Runs a subject and prints its tables and goals. Keeps the figures of a whole run. */
export async function runSubject(
  { name, measure, plot }: Subject,
  { quick, only }: { readonly quick: boolean; readonly only: string | null },
): Promise<void> {
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'palisade-bench-')))
  const notes: string[] = []
  const run: Run = {
    quick,
    folder,
    wants: (each) => only === null || only === each,
    tell: (line) => void process.stderr.write(`bench: ${line}\n`),
    note: (line) => void notes.push(line),
  }
  try {
    const figures = await measure(run)
    const goals = GOALS[name] ?? []
    // A partial run lists only the goals that it measured.
    const shown = only === null ? goals : goals.filter(({ find }) => find(figures) !== undefined)
    const tables = Object.entries(figures).map(([each, rows]) => formatRows(each, rows))
    process.stdout.write(tables.join(''))
    process.stdout.write(notes.map((line) => `${line}\n`).join(''))
    process.stdout.write(formatGoals(shown, figures))
    // Only a whole run may replace the figures of the last one.
    if (quick || only !== null) return
    const results = { started_at, machine, figures, notes }
    writeResults(name, results)
    if (plot !== undefined) writePlot(name, plot(results))
    updateReadme(name)
    run.tell(`written: bench/results/${name}.json, bench/README.md`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
