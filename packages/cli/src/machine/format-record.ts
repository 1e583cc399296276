import { QUESTION_POINT, type DecisionRecord, type RecordLine } from '@palisade/protocol'
import { formatTarget } from '../check/format-decision.ts'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'

/**
 * Columns with a fixed width, because a followed log has no end; a longer value moves the rest of
 * its line.
 */
const WIDTHS = { time: 24, decision: 8, target: 46, why: 28, count: 5 } as const

/** The head of the columns of `formatRecord`. */
export function formatRecordHead(style: Style): string {
  const { time, decision, target, why } = WIDTHS
  const names = [
    'TIME'.padEnd(time),
    'DECISION'.padEnd(decision),
    'TARGET'.padEnd(target),
    'WHY'.padEnd(why),
    'COUNT'.padStart(WIDTHS.count),
    'PROGRAM',
  ]
  return `${style.strong(names.join('  '))}\n`
}

/** One line for a record. Escapes every value. */
export function formatRecord(line: RecordLine, style: Style): string {
  const time = style.quiet(line.time.padEnd(WIDTHS.time))
  if ('lost' in line) {
    const words = `${count(line.lost, 'decision')} not recorded (${line.reason})`
    return `${time}  ${style.warning('lost'.padEnd(WIDTHS.decision))}  ${style.plain(words)}\n`
  }
  const { decision, reason, request } = line.decision
  const verdict = decision.padEnd(WIDTHS.decision)
  const emphasis = decision === 'allow' ? style.good : style.bad
  const target = request === null ? reason : formatTarget(request)
  const cells = [
    time,
    emphasis(verdict),
    style.plain(target.padEnd(WIDTHS.target)),
    style.plain(formatWhy(line).padEnd(WIDTHS.why)),
    String(line.count).padStart(WIDTHS.count),
    style.plain(formatProgram(line)),
  ]
  return `${cells.join('  ').trimEnd()}\n`
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
