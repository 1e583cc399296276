import Table from 'cli-table3'
import type { Style } from './style.ts'

/** One line, or several lines. */
export type Cell = string | readonly string[]

const NO_BORDERS = Object.fromEntries(
  [
    ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left'],
    ['bottom-right', 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ]
    .flat()
    .map((part) => [part, '']),
)

/** Columns aligned by display width, without borders. Escapes its cells; ends in a newline. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: Style,
): string {
  const table = new Table({
    head: head.map((cell) => style.strong(cell)),
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  })
  table.push(...rows.map((row) => row.map((cell) => [cell].flat().map(style.plain).join('\n'))))
  return `${table.toString().replace(/ +$/gm, '')}\n`
}
