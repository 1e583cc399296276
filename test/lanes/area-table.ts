/** The tests of one folder in a run. */
export interface Area {
  readonly name: string
  files: number
  passed: number
  failed: number
  skipped: number
  milliseconds: number
}

/** Rows that a summary has at most: with the lines of the run it has 60 lines. */
const MAX_ROWS = 14

/** Returns `agent`, `policy-core`, …; the folders of the server apart. */
export function areaOf(path: string): string {
  const [, part = '', folder = ''] = path.split('/')
  if (part.includes('.')) return 'architecture'
  return part === 'server' && !folder.includes('.') ? `server/${folder}` : part
}

/** The slowest areas first; those beyond a screen are one row. */
export function formatAreas(areas: readonly Area[]): string {
  const sorted = areas.toSorted((a, b) => b.milliseconds - a.milliseconds)
  const [shown, rest] = [sorted.slice(0, MAX_ROWS), sorted.slice(MAX_ROWS)]
  if (rest.length > 0) shown.push(sumOf(`${rest.length} others`, rest))
  const rows = [...shown, sumOf('all', areas)].map((area) => cellsOf(area))
  return formatTable([['area', 'files', 'passed', 'failed', 'skipped', 'seconds'], ...rows])
}

function sumOf(name: string, areas: readonly Area[]): Area {
  const sum = { name, files: 0, passed: 0, failed: 0, skipped: 0, milliseconds: 0 }
  for (const area of areas) {
    sum.files += area.files
    sum.passed += area.passed
    sum.failed += area.failed
    sum.skipped += area.skipped
    sum.milliseconds += area.milliseconds
  }
  return sum
}

function cellsOf({ name, files, passed, failed, skipped, milliseconds }: Area): string[] {
  return [name, files, passed, failed, skipped, (milliseconds / 1000).toFixed(1)].map(String)
}

function formatTable(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0))
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(width(column)) : cell.padStart(width(column)),
        )
        .join('  '),
    )
    .map((line) => `  ${line}`)
    .join('\n')
}
