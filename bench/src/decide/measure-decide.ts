import type { Run, Subject } from '../figures/subject.ts'
import type { Figures, Rows } from '../figures/table.ts'
import { nameOfCase, type CaseResult } from './case.ts'
import { mergeRuns } from './merge-readings.ts'
import { DECIDE_CASES, planRun, type PlannedCase } from './plan.ts'
import { plotDecide } from './plot/plot.ts'
import { runCase } from './run-case.ts'

export const decide: Subject = {
  name: 'decide',
  about: 'decisions beside `Map.get` and other matchers, compilation, memory',
  minutes: 7,
  cases: DECIDE_CASES,
  measure,
  plot: plotDecide,
}

async function measure(run: Run): Promise<Figures> {
  const figures: Record<string, Rows> = {}
  const leftOut = new Map<string, string[]>()
  for (const [group, cases] of Object.entries(planRun(run.quick))) {
    if (!run.wants(group)) continue
    for (const planned of cases) {
      const name = nameOfCase(planned.case)
      run.tell(name)
      const { rows, left_out } = await runPlanned(planned)
      figures[name] = rows
      for (const line of left_out) leftOut.set(line, [...(leftOut.get(line) ?? []), name])
    }
  }
  for (const [line, names] of leftOut) run.note(`left out: ${line} (${names.join('; ')})`)
  return figures
}

/** Runs one process per reading. */
async function runPlanned({ case: each, runs }: PlannedCase): Promise<CaseResult> {
  const readings: CaseResult[] = []
  for (let at = 0; at < runs; at += 1) readings.push(await runCase(each))
  return mergeRuns(each.kind, readings)
}
