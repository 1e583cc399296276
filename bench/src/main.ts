import { join } from 'node:path'
import { runAgentBench } from './agent/run-agent-bench.ts'
import { nameOfCase, type CaseResult, type LeftOut } from './case.ts'
import { mergeRuns } from './cases/merge-readings.ts'
import { runCase } from './cases/run-case.ts'
import { runEvidenceBench } from './evidence/run-evidence-bench.ts'
import { runFleetBench } from './fleet/run-fleet-bench.ts'
import { withVerdicts } from './goals/goal.ts'
import { judgeGoals } from './goals/judge-goals.ts'
import { HELP } from './help.ts'
import { runHintsBench } from './hints/run-hints-bench.ts'
import { planRun, type Plan, type PlannedCase } from './plan.ts'
import { readOptions, type Options } from './read-options.ts'
import { describeMachine } from './report/describe-machine.ts'
import { formatGoals } from './report/goals-table.ts'
import { formatLeftOutCases, formatTable } from './report/table.ts'
import { writeResults } from './report/write-results.ts'
import { runReplayBench } from './replay/run-replay-bench.ts'
import { runSandboxBench } from './sandbox/run-sandbox-bench.ts'
import { runServerBench } from './server/run-server-bench.ts'

const RESULTS = join(import.meta.dirname, '..', 'results')

/** The longest that any one case may take. */
const CASE_TIMEOUT_MS = 60_000

function tell(line: string): void {
  process.stderr.write(`bench: ${line}\n`)
}

/** Runs the cases in order. Cases that the time does not allow are reported as left out. */
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
    const name = nameOfCase(each.case)
    const elapsedMs = performance.now() - start
    if (elapsedMs > lastStartMs) {
      left_out.push({ contender: name, why: 'the time of the run was over' })
      continue
    }
    tell(`${(elapsedMs / 1000).toFixed(0).padStart(3)} s  ${index + 1}/${cases.length}  ${name}`)
    try {
      const result = await runPlanned(each, Math.min(CASE_TIMEOUT_MS, totalMs - elapsedMs))
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

/** Runs one process per reading. Returns null when one of them exceeds the time. */
async function runPlanned(planned: PlannedCase, timeoutMs: number): Promise<CaseResult | null> {
  const readings: CaseResult[] = []
  for (let run = 0; run < planned.runs; run += 1) {
    const reading = await runCase(planned.case, timeoutMs)
    if (reading === null) return null
    readings.push(reading)
  }
  const [single] = readings
  return single !== undefined && readings.length === 1 ? single : mergeRuns(readings)
}

async function runDecisions({ quick, only }: Options & { subject: 'decisions' }): Promise<number> {
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const { results, left_out, failed } = await runPlan(planRun(quick, only))
  process.stdout.write(`${formatTable(results)}${formatLeftOutCases(left_out)}`)
  const goals = judgeGoals(results)
  // A partial run lists only its own goals. A full run also lists the goals that it did not
  // measure.
  const shown = only === null ? goals : goals.filter(({ reached }) => reached !== null)
  process.stdout.write(formatGoals(shown))
  const mode = quick ? 'quick' : 'full'
  // Only a complete run without failures may replace the recorded figures.
  if (only === null && !failed) {
    const judged = withVerdicts(goals)
    writeResults(RESULTS, { mode, started_at, machine, goals: judged, results, left_out })
    tell('written: bench/results/latest.json, bench/results/decide.svg')
  }
  return failed ? 1 : 0
}

async function runSubject(options: Options): Promise<number> {
  switch (options.subject) {
    case 'help':
      process.stdout.write(HELP)
      return 0
    case 'server':
      return runServerBench(options, RESULTS, tell)
    case 'agent':
      return runAgentBench(options, RESULTS, tell)
    case 'sandbox':
      return runSandboxBench(options, RESULTS, tell)
    case 'hints':
      return runHintsBench(options, RESULTS, tell)
    case 'evidence':
      return runEvidenceBench(options, RESULTS, tell)
    case 'replay':
      return runReplayBench(options, RESULTS, tell)
    case 'fleet':
      return runFleetBench(options, RESULTS, tell)
    case 'decisions':
      return runDecisions(options)
  }
}

const options = readOptions(process.argv.slice(2))
if (typeof options === 'string') {
  tell(options)
  process.exitCode = 2
} else {
  process.exitCode = await runSubject(options)
}
