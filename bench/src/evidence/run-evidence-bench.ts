import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withVerdicts } from '../goals/goal.ts'
import { atMost, type RangedGoal } from '../goals/ranged-goal.ts'
import type { Range } from '../measure/range.ts'
import { describeMachine } from '../report/describe-machine.ts'
import { formatNumber } from '../report/format-number.ts'
import { formatRange, formatRangedGoals } from '../report/ranged-goals-table.ts'
import { roundNumber } from '../report/write-results.ts'
import { measureAudit, type AuditResult } from './cases/audit.ts'
import { measurePolls, type PollsResult } from './cases/polls.ts'
import { measureShare, type StoreShare } from './cases/share.ts'

export const EVIDENCE_GROUPS = ['polls', 'share', 'audit'] as const
export type EvidenceGroup = (typeof EVIDENCE_GROUPS)[number]

const FULL = {
  polls: { rounds: 5, forMs: 15_000, recordsPerSecond: 5_000 },
  // A tenth of 100,000 machines that send 50 records in five minutes.
  share: { machines: 500, forMs: 60_000, recordsPerSecond: 1_700 },
  rows: 10_000_000,
} as const
/** Checks that every case works. */
const QUICK = {
  polls: { rounds: 1, forMs: 3_000, recordsPerSecond: 5_000 },
  share: { machines: 50, forMs: 5_000, recordsPerSecond: 1_700 },
  rows: 100_000,
} as const

interface EvidenceFigures {
  readonly polls: PollsResult | null
  readonly share: readonly StoreShare[] | null
  readonly audit: AuditResult | null
}

/** Measures the uploads and queries of decision records, and returns the exit status. */
export async function runEvidenceBench(
  { quick, only }: { readonly quick: boolean; readonly only: EvidenceGroup | null },
  results: string,
  tell: (line: string) => void,
): Promise<number> {
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const extent = quick ? QUICK : FULL
  const folder = mkdtempSync(join(tmpdir(), 'palisade-bench-'))
  const inTurn = async <T>(group: EvidenceGroup, work: () => Promise<T>): Promise<T | null> => {
    if (only !== null && only !== group) return null
    tell(group)
    return work()
  }
  try {
    const figures: EvidenceFigures = {
      polls: await inTurn('polls', () => measurePolls(folder, extent.polls)),
      share: await inTurn('share', () => measureShare(folder, extent.share)),
      audit: await inTurn('audit', () => measureAudit(folder, { rows: extent.rows, tell })),
    }
    const goals = judgeEvidence(figures)
    const shown = only === null ? goals : goals.filter(({ reached }) => reached !== null)
    process.stdout.write(`${formatFigures(figures)}${formatRangedGoals(shown)}`)
    // Only a full run may replace the recorded figures.
    if (only !== null || quick) return 0
    const run = { mode: 'full', started_at, machine, goals: withVerdicts(goals), ...figures }
    mkdirSync(results, { recursive: true })
    writeFileSync(join(results, 'evidence.json'), `${JSON.stringify(run, roundNumber, 2)}\n`)
    tell('written: bench/results/evidence.json')
    return 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function judgeEvidence({ polls, audit }: EvidenceFigures): RangedGoal[] {
  return [
    atMost('polls beside 5,000 records a second, p99', 'x rest', 2, polls?.ratio ?? null),
    atMost('upload over HTTP, processor', 'us a record', 12, polls?.cpu_us ?? null),
    atMost('first page of any audit query, p95', 'ms', 300, audit && rangeOfAudit(audit)),
  ]
}

function rangeOfAudit({ p50_ms, p95_ms, most_ms }: AuditResult): Range {
  return { median: p95_ms, least: p50_ms, most: most_ms }
}

function formatFigures({ polls, share, audit }: EvidenceFigures): string {
  const lines: string[] = []
  if (polls !== null)
    lines.push(
      `polls: p99 ${formatRange(polls.rest_p99)} ms at rest, ${formatRange(polls.beside_p99)} ms ` +
        `beside ${formatRange(polls.records_per_second)} records/s; ` +
        `${polls.failed_polls} polls and ${polls.failed_batches} batches failed`,
    )
  for (const each of share ?? [])
    lines.push(
      `share: ${each.store}, ${formatNumber(each.records_per_second)} records/s: server ` +
        `${formatNumber(each.server_cores)} of a core, database ` +
        `${formatNumber(each.database_cores)}, ${formatNumber(each.written_kib_per_second)} ` +
        `KiB/s written; ${each.failed_batches} batches failed`,
    )
  if (audit !== null)
    lines.push(
      `audit: ${audit.rows} rows at ${formatNumber(audit.store_cpu_us)} us each; first page of ` +
        `${audit.queries} queries p50 ${formatNumber(audit.p50_ms)} ms, ` +
        `p95 ${formatNumber(audit.p95_ms)} ms, most ${formatNumber(audit.most_ms)} ms ` +
        `(${audit.slowest})`,
    )
  return lines.map((line) => `${line}\n`).join('')
}
