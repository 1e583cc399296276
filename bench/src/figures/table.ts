import Table from 'cli-table3'
import { formatNumber } from './format-number.ts'
import type { Range } from './range.ts'

/** The figures of one row by column. The name of a column ends with its unit. */
export type Row = Readonly<Record<string, Range>>

/** The figures of one case by row. */
export type Rows = Readonly<Record<string, Row>>

/** The figures of a subject by case. */
export type Figures = Readonly<Record<string, Rows>>

/** Formats the rows of one case with all their columns. */
export function formatRows(name: string, rows: Rows): string {
  const columns = [...new Set(Object.values(rows).flatMap((row) => Object.keys(row)))]
  return formatTable(
    [name, ...columns],
    Object.entries(rows).map(([of, row]) => [
      of,
      ...columns.map((column) => formatRange(row[column])),
    ]),
  )
}

/** Formats a table with its first column to the left and the others to the right. */
export function formatTable(
  head: readonly string[],
  cells: readonly (readonly string[])[],
): string {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, index) => (index === 0 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  })
  for (const row of cells) table.push([...row])
  return `${table.toString()}\n`
}

function formatRange(range: Range | undefined): string {
  if (range === undefined) return ''
  const { median, low, high } = range
  if (low === undefined || high === undefined) return formatNumber(median)
  return `${formatNumber(median)} (${formatNumber(low)}-${formatNumber(high)})`
}
