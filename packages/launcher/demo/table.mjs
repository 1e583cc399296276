import { styleText } from 'node:util'

/** @typedef {import('./rows.mjs').Row} Row */

const WIDTHS = { what: 46, program: 15, expected: 30, actual: 14 }

/** @returns {string} */
export function formatHeading() {
  const cells = [
    'what'.padEnd(WIDTHS.what),
    'program'.padEnd(WIDTHS.program),
    'expected'.padEnd(WIDTHS.expected),
    'actual'.padEnd(WIDTHS.actual),
    'decided by',
  ]
  return `     ${cells.join(' ')}\n`
}

/**
 * @param {Row} row
 * @param {boolean} colour
 * @returns {string} a line; a second one says what the program showed when that differs
 */
export function formatRow(row, colour) {
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

/**
 * @param {boolean | null} ok
 * @param {boolean} colour
 */
function formatMark(ok, colour) {
  const mark = ok === null ? 'skip' : ok ? 'ok  ' : 'FAIL'
  if (!colour) return mark
  return styleText(ok === null ? 'yellow' : ok ? 'green' : 'red', mark)
}

/**
 * @param {readonly Row[]} rows
 * @param {number} elapsedMs
 */
export function formatSummary(rows, elapsedMs) {
  const count = (/** @type {boolean | null} */ ok) => rows.filter((row) => row.ok === ok).length
  const skipped = count(null) === 0 ? '' : `, ${count(null)} skipped`
  const seconds = (elapsedMs / 1000).toFixed(1)
  return `\n${count(true)} as expected, ${count(false)} not${skipped}, in ${seconds} s\n`
}
