import Table from 'cli-table3'
import { printable } from './printable.ts'
import type { Style, Tone } from './style.ts'
import { fitWidths, wrapText } from './wrap.ts'

/** A text, with emphasis if it has a tone. */
export type Line = string | { readonly text: string; readonly tone: Tone }

/** One line, or several lines. */
export type Cell = Line | readonly Line[]

/** The name of a column; one that only `--wide` shows is an object. */
export type Column = string | { readonly wide: string }

const GAP = 2
const NO_BORDERS = Object.fromEntries(
  [
    ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left'],
    ['bottom-right', 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ]
    .flat()
    .map((part) => [part, '']),
)

/**
 * Columns aligned by display width, without borders. On a terminal, cells are wrapped so that the
 * table fits. Escapes its cells; ends in a newline.
 */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  style: Style,
): string {
  const isShown = (_: unknown, index: number): boolean =>
    style.isWide || typeof columns[index] === 'string'
  const head = columns.filter(isShown).map((name) => (typeof name === 'string' ? name : name.wide))
  const cells = rows.map((row) => row.filter(isShown).map(linesOf))
  const widths = head.map((name, index) =>
    Math.max(name.length, ...cells.map((row) => widthOf(row[index] ?? []))),
  )
  const room = style.columns === null ? Infinity : style.columns - GAP * (head.length - 1)
  const fitted = fitWidths(widths, room)
  const table = createTable(head.map((name) => style.strong(name)))
  const wrapped = cells.map((row) =>
    row.map((lines, index) => formatLines(lines, fitted[index] ?? Infinity, style).join('\n')),
  )
  table.push(...wrapped)
  return `${table.toString().replace(/ +$/gm, '')}\n`
}

/** One row of columns with fixed widths, wrapped on a terminal; for a log, which has no end. */
export function formatRow(cells: readonly Cell[], widths: readonly number[], style: Style): string {
  const columns = cells.map((cell, index) => {
    const isWhole = style.columns === null || style.isWide
    const width = isWhole ? Infinity : (widths[index] ?? Infinity)
    return linesOf(cell).flatMap((line) => wrapLine(line, width))
  })
  const height = Math.max(...columns.map((lines) => lines.length))
  return Array.from({ length: height }, (_, row) =>
    columns
      .map((lines, index) => {
        const { text, tone } = lines[row] ?? { text: '', tone: 'plain' as const }
        return style[tone](text) + ' '.repeat(Math.max(0, (widths[index] ?? 0) - text.length))
      })
      .join(' '.repeat(GAP))
      .trimEnd()
      .concat('\n'),
  ).join('')
}

interface Toned {
  readonly text: string
  readonly tone: Tone
}

function linesOf(cell: Cell): readonly Toned[] {
  return [cell].flat().map((line) => {
    const { text, tone } = typeof line === 'string' ? { text: line, tone: 'plain' as const } : line
    return { text: printable(text), tone }
  })
}

function widthOf(lines: readonly Toned[]): number {
  return Math.max(0, ...lines.map(({ text }) => [...text].length))
}

function formatLines(lines: readonly Toned[], width: number, style: Style): readonly string[] {
  return lines.flatMap((line) => wrapLine(line, width)).map(({ text, tone }) => style[tone](text))
}

function wrapLine({ text, tone }: Toned, width: number): readonly Toned[] {
  return wrapText(text, width).map((part) => ({ text: part, tone }))
}

function createTable(head: string[]) {
  return new Table({
    head,
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
  })
}
