import { QUESTION_POINT, type DecisionRecord, type RecordLine } from '@palisade/protocol'
import { formatTarget } from '../check/format-decision.ts'
import { count } from '../terminal/count.ts'
import { formatTime, type Style } from '../terminal/style.ts'
import { formatRow, type Cell } from '../terminal/table.ts'
import { fitWidths } from '../terminal/wrap.ts'

/** Fixed widths, because a followed log has no end. */
const COLUMNS = [
  ['TIME', 20],
  ['DECISION', 8],
  ['TARGET', 46],
  ['WHY', 28],
  ['COUNT', 5],
  ['PROGRAM', 24],
] as const
/** With milliseconds. */
const WIDE_TIME = 24
/** A narrower terminal has no place for all columns. */
const NARROW_BELOW = 140
/** The column that is left out there; the target then has the count. */
const COUNT = 4

/** The head of the columns of `formatRecord`. */
export function formatRecordHead(style: Style): string {
  return formatCells(
    COLUMNS.map(([text]) => ({ text, tone: 'strong' })),
    style,
  )
}

/** A record, on one line where there is room. Escapes every value. */
export function formatRecord(line: RecordLine, style: Style): string {
  const written = formatTime(line.time, style)
  const time = { text: isNarrow(style) ? written.slice(5, 19) : written, tone: 'quiet' } as const
  if ('lost' in line) {
    const words = `${count(line.lost, 'decision')} not recorded (${line.reason})`
    return formatCells([time, { text: 'lost', tone: 'warning' }, words], style)
  }
  const { decision, reason, request } = line.decision
  const target = request === null ? reason : formatTarget(request)
  const program = formatProgram(line)
  const cells = [
    time,
    { text: decision, tone: decision === 'allow' ? 'good' : 'bad' } as const,
    isNarrow(style) && line.count > 1 ? `${target} (${line.count})` : target,
    formatWhy(line),
    String(line.count),
    isNarrow(style) ? program.replace(/^.*\//, '').replace(/ \(\d+\)$/, '') : program,
  ]
  return formatCells(cells, style)
}

function isNarrow({ columns, isWide }: Style): boolean {
  return columns !== null && columns < NARROW_BELOW && !isWide
}

function formatCells(cells: readonly Cell[], style: Style): string {
  if (!isNarrow(style))
    return formatRow(
      cells,
      COLUMNS.map(([name, width]) => (name === 'TIME' && style.isWide ? WIDE_TIME : width)),
      style,
    )
  return formatRow(
    cells.filter((_, index) => index !== COUNT),
    narrowWidths(style.columns ?? 0),
    style,
  )
}

/** Above 80 characters, first the target and then the reason take more. */
function narrowWidths(columns: number): readonly number[] {
  const more = Math.max(0, columns - 80)
  const forTarget = Math.min(17, more)
  const forWhy = Math.min(15, more - forTarget)
  return fitWidths([14, 8, 29 + forTarget, 13 + forWhy, 8], columns - 8)
}

/** "rule `no uploads`", "default_deny", "asked: …" for a question, or the end of a connection. */
function formatWhy({ decision, flow, point }: DecisionRecord): string {
  if (flow !== undefined) {
    const { cause, bytes_sent, bytes_received } = flow
    return `${cause}, ${bytes_sent} B out, ${bytes_received} B in`
  }
  const asked = point === QUESTION_POINT ? 'asked: ' : ''
  const [rule] = decision.rules
  if (rule === undefined) return asked + decision.reason
  const more = decision.rules.length + (decision.rules_omitted ?? 0) - 1
  return `${asked}rule \`${rule.rule_name}\`${more === 0 ? '' : ` +${more}`}`
}

/** "/usr/bin/curl (4711)", or only the user of a process of another user. */
export function formatProgram({ program, point }: DecisionRecord): string {
  if (program === undefined) return point === QUESTION_POINT ? 'local API' : ''
  const { pid, executable, user } = program
  return executable === undefined || pid === undefined
    ? `a process of user ${user.name ?? user.uid}`
    : `${executable} (${pid})`
}
