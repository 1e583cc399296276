import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

interface Area {
  files: number
  passed: number
  failed: number
  skipped: number
  milliseconds: number
}

/** Ends a run with one line for each folder of tests; the slowest come first. */
export class AreaReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const areas = new Map<string, Area>()
    for (const module of modules) add(areas, module)
    if (areas.size < 2) return
    process.stdout.write(`${formatAreas(areas)}\n`)
  }
}

function add(areas: Map<string, Area>, module: TestModule): void {
  const name = areaOf(relative(module.project.config.root, module.moduleId))
  const area = areas.get(name) ?? { files: 0, passed: 0, failed: 0, skipped: 0, milliseconds: 0 }
  areas.set(name, area)
  area.files += 1
  area.milliseconds += module.diagnostic().duration
  for (const test of module.children.allTests()) area[countOf(test.result().state)] += 1
}

function countOf(state: 'failed' | 'passed' | 'pending' | 'skipped'): keyof Area {
  return state === 'pending' ? 'skipped' : state
}

/** `agent`, `policy-core`, …; the folders of the server apart. */
function areaOf(path: string): string {
  const [, part = '', folder = ''] = path.split('/')
  if (part.includes('.')) return 'architecture'
  return part === 'server' && !folder.includes('.') ? `server/${folder}` : part
}

function formatAreas(areas: ReadonlyMap<string, Area>): string {
  const rows = [...areas]
    .toSorted(([, a], [, b]) => b.milliseconds - a.milliseconds)
    .map(([name, { files, passed, failed, skipped, milliseconds }]) => {
      const seconds = (milliseconds / 1000).toFixed(1)
      return [name, files, passed, failed, skipped, seconds].map(String)
    })
  const table = [['area', 'files', 'passed', 'failed', 'skipped', 'seconds'], ...rows]
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  )
  const format = (row: readonly string[]) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return column === 0 ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  ')
  return table.map((row) => `  ${format(row)}`).join('\n')
}
