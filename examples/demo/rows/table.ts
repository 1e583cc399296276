import { styleText } from 'node:util'
import type { Row } from './run-row.ts'

const WIDTHS = { what: 46, program: 15, expected: 30, actual: 14 }

export function formatHeading(): string {
  const cells = [
    'what'.padEnd(WIDTHS.what),
    'program'.padEnd(WIDTHS.program),
    'expected'.padEnd(WIDTHS.expected),
    'actual'.padEnd(WIDTHS.actual),
    'decided by',
  ]
  return `     ${cells.join(' ')}\n`
}

/** One line, and a second one with the program's output unless the row came out as expected. */
export function formatRow(row: Row, colour: boolean): string {
  const cells = [
    row.what.padEnd(WIDTHS.what),
    row.program.padEnd(WIDTHS.program),
    row.expected.padEnd(WIDTHS.expected),
    row.actual.padEnd(WIDTHS.actual),
    row.decided_by || row.said,
  ]
  const line = `${formatMark(row.ok, colour)} ${cells.join(' ').trimEnd()}\n`
  return row.ok === true ? line : `${line}     ${row.target}: ${row.said}\n`
}

function formatMark(ok: boolean | null, colour: boolean): string {
  const mark = ok === null ? 'skip' : ok ? 'ok  ' : 'FAIL'
  if (!colour) return mark
  return styleText(ok === null ? 'yellow' : ok ? 'green' : 'red', mark)
}

export function formatSummary(rows: readonly Row[], elapsedMs: number): string {
  const count = (ok: boolean | null) => rows.filter((row) => row.ok === ok).length
  const skipped = count(null) === 0 ? '' : `, ${count(null)} skipped`
  const seconds = (elapsedMs / 1000).toFixed(1)
  return `\n${count(true)} as expected, ${count(false)} not${skipped}, in ${seconds} s\n`
}
