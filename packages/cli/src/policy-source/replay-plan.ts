import { isFilesystemAction } from '@palisade/policy-core'
import type { ApplyResponse, NotJudgedCause, ReplayResult, ReplaySpan } from '@palisade/protocol'
import { parseInstant } from '../options/parse-instant.ts'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { Io } from '../runtime/io.ts'
import { createProgressLine } from '../runtime/waiting.ts'
import type { MadePlan } from './make-plan.ts'

const DEFAULT_AGE = '30d'
const DAY_MS = 24 * 60 * 60 * 1000

export const REPLAY_NOTES = `
A replay decides the requests that machines have uploaded anew, with the policies in force and with
the files, for each user with the present teams. It needs \`policies:write\` or \`audit:read\`.`

/**
 * Asks the server for a replay; null without `age`, which is true for the default. Throws exit 1
 * when it is of another revision than the plan.
 */
export async function replayPlan(
  io: Io,
  { organization, document, plan }: Pick<MadePlan, 'organization' | 'document' | 'plan'>,
  { age, option }: { readonly age: string | true | undefined; readonly option: string },
): Promise<ReplayResult | null> {
  if (age === undefined) return null
  const span = readSpan(age === true ? DEFAULT_AGE : age, option, io.now())
  const show = createProgressLine(io)
  try {
    const replay = await organization.policySet.replay(document, span, (progress) => {
      const { read_from, requests, decided } = progress
      const share = requests === 0 ? 0 : Math.floor((100 * decided) / requests)
      show(
        requests === 0
          ? `reading records, back to ${read_from.slice(0, 10)}`
          : `deciding ${requests} different requests, ${share} %`,
      )
    })
    if (replay.revision === plan.revision) return replay
  } finally {
    show('')
  }
  throw new CliError(
    'ERR_PLAN_STALE',
    EXIT.failed,
    'somebody else changed the organization since the plan; run it again',
  )
}

/** Whole days count back from the server's clock. */
function readSpan(age: string, option: string, nowMs: number): ReplaySpan {
  const [, days] = /^(\d{1,3})d$/.exec(age) ?? []
  return days === undefined ? { from: parseInstant(age, option, nowMs) } : { days: Number(days) }
}

/** Throws exit 1 when the records cannot show denials: a time without records denies nothing. */
export function requireEvidence(replay: ReplayResult): void {
  const reason = findLack(replay)
  if (reason === null) return
  throw new CliError(
    'ERR_NO_EVIDENCE',
    EXIT.failed,
    `nothing was changed: the records cannot show what would be denied: ${reason}`,
  )
}

/** Why the records of the time do not show all requests; null when they do. */
function findLack({ recorded, upload, complete_since, from, to }: ReplayResult): string | null {
  if (upload !== 'full') return LACKS[upload]
  if (recorded.count === 0 || complete_since === null) return 'no request of this time is recorded'
  if (complete_since <= from) return null
  const days = Math.floor((Date.parse(to) - Date.parse(complete_since)) / DAY_MS)
  const instead = days === 0 ? 'wait for a whole day' : `write \`--require-replay ${days}d\``
  return `all requests are recorded since ${complete_since.slice(0, 16)}Z only; ${instead}`
}

const LACKS = {
  sampled: 'machines upload a sample, which may leave out any request',
  off: 'machines upload no records at present; see `palisade org set --upload`',
  denials: 'machines upload denials alone; see `palisade org set --upload`',
} as const

/**
 * Requests that may be denied: those newly denied, those beyond the bound of a replay, and paths
 * that it could not judge, if `changes` could deny a path.
 */
export function mostDenied(
  { newly_denied, not_judged }: Pick<ReplayResult, 'newly_denied' | 'not_judged'>,
  changes: ApplyResponse['changes'],
): number {
  const causes = changes.some(mayDenyPaths) ? [...OF_PATHS, 'too_many'] : ['too_many']
  return not_judged
    .filter(({ cause }) => causes.includes(cause))
    .reduce((sum, { count }) => sum + count, newly_denied.count)
}

const OF_PATHS: readonly NotJudgedCause[] = ['path_cut', 'home_unknown']

/** An old rule may be gone or narrower; a new one denies only if it says so. */
function mayDenyPaths({ old, new: policy }: ApplyResponse['changes'][number]): boolean {
  const denies = (policy?.rules ?? []).filter(({ decision }) => decision === 'deny')
  return [...(old?.rules ?? []), ...denies].some(({ actions }) => actions.some(isFilesystemAction))
}

/** Reads `--max-denied`, which is 0 by default. Throws exit 2. */
export function readMaxDenied({
  maxDenied,
  requireReplay,
}: {
  readonly maxDenied?: string
  readonly requireReplay?: string | true
}): number {
  if (maxDenied === undefined) return 0
  if (requireReplay === undefined) throw usageError('`--max-denied` needs `--require-replay`')
  if (/^\d{1,12}$/.test(maxDenied)) return Number(maxDenied)
  throw usageError('`--max-denied` must be a whole number')
}
