import { join } from 'node:path'
import { nameOfCase, type CaseResult, type LeftOut } from './case.ts'
import { runCase } from './cases/run-case.ts'
import { planRun, type Plan } from './plan.ts'
import { readOptions, type Options } from './read-options.ts'
import { describeMachine } from './report/describe-machine.ts'
import { formatLeftOutCases, formatTable } from './report/table.ts'
import { writeResults } from './report/write-results.ts'

const RESULTS = join(import.meta.dirname, '..', 'results')

/** The longest that one case may take, whatever it measures. */
const CASE_TIMEOUT_MS = 60_000

function tell(line: string): void {
  process.stderr.write(`bench: ${line}\n`)
}

/** Runs the cases one after the other; what time does not allow is left out by name. */
async function runPlan({ cases, lastStartMs, totalMs }: Plan): Promise<{
  readonly results: readonly CaseResult[]
  readonly left_out: readonly LeftOut[]
  readonly failed: boolean
}> {
  const results: CaseResult[] = []
  const left_out: LeftOut[] = []
  const start = performance.now()
  let failed = false
  for (const [index, each] of cases.entries()) {
    const name = nameOfCase(each)
    const elapsedMs = performance.now() - start
    if (elapsedMs > lastStartMs) {
      left_out.push({ contender: name, why: 'the time of the run was over' })
      continue
    }
    tell(`${(elapsedMs / 1000).toFixed(0).padStart(3)} s  ${index + 1}/${cases.length}  ${name}`)
    try {
      const result = await runCase(each, Math.min(CASE_TIMEOUT_MS, totalMs - elapsedMs))
      if (result === null)
        left_out.push({ contender: name, why: 'it took too long and was stopped' })
      else results.push(result)
    } catch (error) {
      failed = true
      const { message, cause } = error as Error
      left_out.push({ contender: name, why: 'it failed' })
      tell(`${message}: ${cause instanceof Error ? cause.message : String(cause)}`)
    }
  }
  return { results, left_out, failed }
}

async function run({ quick, only }: Options): Promise<number> {
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const { results, left_out, failed } = await runPlan(planRun(quick, only))
  process.stdout.write(`${formatTable(results)}${formatLeftOutCases(left_out)}`)
  const mode = quick ? 'quick' : 'full'
  // A part of a run, or a failed one, must not replace the figures of a whole one.
  if (only === null && !failed) {
    writeResults(RESULTS, { mode, started_at, machine, results, left_out })
    tell('written: bench/results/latest.json, bench/results/decide.svg')
  }
  return failed ? 1 : 0
}

const options = readOptions(process.argv.slice(2))
if (typeof options === 'string') {
  tell(options)
  process.exitCode = 2
} else {
  process.exitCode = await run(options)
}
