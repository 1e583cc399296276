import { describe, expect, it } from 'vitest'
import { plotDecide } from '../../../../bench/src/decide/plot/plot.ts'
import type { Results } from '../../../../bench/src/figures/results.ts'
import { single } from '../../../../bench/src/figures/range.ts'
import type { Rows } from '../../../../bench/src/figures/table.ts'

type Case = readonly [name: string, rows: Rows]

function createRun(cases: readonly Case[]): Results {
  const machine = { node: '24.0.0', v8: '13', processor: 'A & B <C>', processors: 2, load: 0 }
  const started_at = '2026-01-02T03:04:05.000Z'
  return { started_at, machine, figures: Object.fromEntries(cases), notes: [] }
}

function createResult(size: number, values: Readonly<Record<string, number>>): Case {
  const rows = Object.entries(values).map(([contender, ns]) => [contender, { ns: single(ns) }])
  return [`hosts ${size}`, Object.fromEntries(rows) as Rows]
}

describe('plotDecide', () => {
  it('draws and names one line per contender', () => {
    const results = [
      createResult(10, { 'Map.get': 50, 'palisade decide': 150 }),
      createResult(1000, { 'Map.get': 70, 'palisade decide': 1500 }),
      ['hosts 1000, alone', { 'Map.get': { ns: single(1) } }] as const,
    ]

    const svg = plotDecide(createRun(results))

    expect(svg.match(/<polyline/g)).toHaveLength(2)
    expect(svg).toContain('>palisade decide</text>')
    expect(svg).not.toMatch(/NaN|Infinity|undefined/)
  })

  it('places ten times the time one decade higher', () => {
    const svg = plotDecide(createRun([createResult(10, { 'Map.get': 100, casbin: 1000 })]))

    const [low, high] = [...svg.matchAll(/points="[\d.]+,([\d.]+)"/g)].map((match) =>
      Number(match[1]),
    )

    expect((low ?? 0) - (high ?? 0)).toBe(318)
  })

  it('names every line at its end without overlap', () => {
    const same = { 'Map.get': 100, picomatch: 101, minimatch: 102, casbin: 103 }
    const svg = plotDecide(createRun([createResult(10, same), createResult(1000, same)]))

    const heights = [...svg.matchAll(/class="name [^"]*" x="[\d.]+" y="([\d.]+)"/g)].map((match) =>
      Number(match[1]),
    )

    const sorted = heights.toSorted((a, b) => a - b)
    expect(sorted).toHaveLength(4)
    for (const [index, height] of sorted.slice(1).entries())
      expect(height - (sorted[index] ?? 0)).toBeGreaterThanOrEqual(16)
  })

  it('draws our line last, on top of the others', () => {
    const svg = plotDecide(createRun([createResult(10, { 'palisade decide': 50, casbin: 60 })]))

    const lines = [...svg.matchAll(/<g class="line ([^"]+)"/g)].map((match) => match[1])

    expect(lines.at(-1)).toContain('ours')
  })

  it('has colours for the light and the dark scheme', () => {
    const svg = plotDecide(createRun([]))

    expect(svg).toContain('prefers-color-scheme:dark')
    expect(svg).toContain('class="page"')
  })

  it('escapes the description of the machine', () => {
    expect(plotDecide(createRun([]))).toContain('A &amp; B &lt;C&gt;')
  })
})
