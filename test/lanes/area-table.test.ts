import { describe, expect, it } from 'vitest'
import { areaOf, formatAreas } from './area-table.ts'

const area = (name: string, milliseconds: number) => ({
  name,
  files: 1,
  passed: 2,
  failed: 1,
  skipped: 0,
  milliseconds,
})

describe('areas', () => {
  it.each([
    ['test/agent/proxy/a.test.ts', 'agent'],
    ['test/server/http/body/a.test.ts', 'server/http'],
    ['test/server/main.process.test.ts', 'server'],
    ['test/architecture.test.ts', 'architecture'],
  ])('%s belongs to %s', (path, name) => {
    expect(areaOf(path)).toBe(name)
  })

  it('are listed with the slowest first, and their sum', () => {
    expect(formatAreas([area('cli', 40), area('agent', 1_460)])).toBe(
      [
        '  area   files  passed  failed  skipped  seconds',
        '  agent      1       2       1        0      1.5',
        '  cli        1       2       1        0      0.0',
        '  all        2       4       2        0      1.5',
      ].join('\n'),
    )
  })

  it('beyond a screen are one row', () => {
    const table = formatAreas(Array.from({ length: 40 }, (_, index) => area(`a${index}`, index)))

    expect(table.split('\n')).toHaveLength(17)
    expect(table).toMatch(/^ {2}26 others +26 +52 +26 /m)
  })
})
