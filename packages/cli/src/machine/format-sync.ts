import type { AgentStatus } from '@palisade/protocol'
import { formatAge, formatSpan } from '../terminal/age.ts'
import type { Style } from '../terminal/style.ts'
import { formatAwaitedIssue } from './format-awaited-issue.ts'

/** Status rows for the polls of the server, its hints, and the cache of its policies. */
export function formatSync(
  { sync, hints, cache_problem }: AgentStatus,
  nowMs: number,
  style: Style,
): readonly [string, string][] {
  const age = (instant: string): string => style.plain(formatAge(instant, nowMs))
  const { last_success_at, failing_since, last_error, awaiting, next_attempt_at } = sync
  const pairs: [string, string][] = [
    [
      'last answer',
      last_success_at === null ? 'none since the agent started' : age(last_success_at),
    ],
  ]
  if (failing_since !== null)
    pairs.push([
      'failing',
      `${style.bad(formatSpan(failing_since, nowMs))}, since ${style.plain(failing_since)}`,
    ])
  if (last_error !== null)
    pairs.push(['last error', style.plain(`${last_error.message} (${last_error.code})`)])
  if (awaiting !== null) pairs.push(['waiting', formatAwaitedIssue(awaiting, nowMs, style)])
  if (next_attempt_at !== null) pairs.push(['next attempt', age(next_attempt_at)])
  pairs.push(['hints', describeHints(hints, nowMs, style)])
  if (cache_problem !== null)
    pairs.push(['cache problem', style.warning(describeCacheProblem(cache_problem))])
  return pairs
}

function describeHints(
  { is_on, failing_since, last_error }: AgentStatus['hints'],
  nowMs: number,
  style: Style,
): string {
  if (!is_on) return 'off: changes arrive by scheduled polls only'
  if (failing_since === null) return 'on: changes arrive at once'
  const why = last_error === null ? '' : `: ${last_error.message} (${last_error.code})`
  return `${style.warning('none')} ${style.plain(formatSpan(failing_since, nowMs) + why)}`
}

function describeCacheProblem({
  file,
  message,
}: NonNullable<AgentStatus['cache_problem']>): string {
  return file === null ? message : `${message}; set aside as ${file}`
}
