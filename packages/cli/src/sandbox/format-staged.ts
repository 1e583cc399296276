import type { StagedChange, StagedResult, StagedSession } from '@palisade/protocol'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'
import { formatTable } from '../terminal/table.ts'

/** A table of the changes; the reason for each that is not copied out follows below. */
export function formatChanges({ changes, counts }: StagedResult, style: Style): string {
  const total = Object.values(counts).reduce((sum, each) => sum + each, 0)
  if (total === 0) return 'no changes\n'
  const rows = changes.map(({ detail, kind, path, size, type, verdict }) => [
    kind,
    type,
    type === 'file' ? String(size) : '',
    verdict,
    detail ?? '',
    showEnd(path),
  ])
  const head = ['CHANGE', 'TYPE', 'BYTES', 'VERDICT', 'DETAIL', 'PATH']
  const table = formatTable(head, rows, style)
  const reasons = changes.flatMap((change) => formatReason(change, style))
  const omitted = total - changes.length
  const listed = changes.filter(({ verdict }) => verdict === 'allowed' || verdict === 'applied')
  const granted = `; policy grants ${counts.allowed + counts.applied - listed.length} of them`
  const rest = omitted === 0 ? '' : `${count(omitted, 'more change')}, not listed${granted}\n`
  return `${table}${rest}${reasons.join('')}`
}

/** A space at the end of a path is not seen otherwise. */
function showEnd(path: string): string {
  return /\s$/u.test(path) ? `\`${path}\`` : path
}

function formatReason({ path, reason, verdict }: StagedChange, style: Style): readonly string[] {
  if (reason === null) return []
  return [`${style.warning(verdict)} ${style.plain(path)}: ${style.plain(reason)}\n`]
}

/** One sentence about what became of the changes. */
export function formatOutcome({ counts, is_kept, outcome, session }: StagedResult): string {
  if (outcome === 'discarded') return 'the changes were discarded\n'
  const left = counts.refused + counts.conflict + counts.failed
  const done = `${count(counts.applied, 'change')} copied out`
  if (!is_kept) return `${done}\n`
  return `${done}, ${left} not; \`palisade staged discard ${session?.id ?? 'ID'}\` drops the rest\n`
}

export function formatSessions(sessions: readonly StagedSession[], style: Style): string {
  if (sessions.length === 0) return 'no changes are kept\n'
  const rows = sessions.map(({ expires_at, id, started_at, state, workspaces }) => [
    id,
    state,
    started_at,
    expires_at,
    workspaces,
  ])
  return formatTable(['ID', 'STATE', 'STARTED', 'EXPIRES', 'WORKSPACES'], rows, style)
}
