import { DOMAIN_NAMES, type DomainName } from '../case.ts'
import { formatNumber } from './format-number.ts'
import type { Results } from './results.ts'

/** A colour and a dash for each contender, the same in every panel. */
const STYLES: Readonly<Record<string, string>> = {
  'Map.get': 'stroke="#6b7280" stroke-dasharray="6 4"',
  'palisade decide': 'stroke="#0b5fff" stroke-width="3.5"',
  'one RegExp': 'stroke="#d97706"',
  picomatch: 'stroke="#059669"',
  minimatch: 'stroke="#7c3aed"',
  'net.BlockList': 'stroke="#be123c"',
  'ipaddr.js': 'stroke="#0891b2"',
  casbin: 'stroke="#78350f" stroke-dasharray="2 3"',
}
const PANEL = { width: 330, height: 330, left: 62, top: 62, gap: 40 } as const
const WIDTH = PANEL.left + 3 * (PANEL.width + PANEL.gap)
const HEIGHT = PANEL.top + PANEL.height + 104

interface Point {
  readonly size: number
  readonly ns: number
}
type Lines = ReadonlyMap<string, readonly Point[]>

/** Nanoseconds a decision by number of rules, both logarithmic, a panel a domain; an SVG text. */
export function plotDecide(run: Results): string {
  const panels = DOMAIN_NAMES.map((name) => [name, linesOf(run, name)] as const)
  const points = panels.flatMap(([, lines]) => [...lines.values()].flat())
  const decades = {
    size: spanOf(points.map(({ size }) => size)),
    ns: spanOf(points.map(({ ns }) => ns)),
  }
  const used = Object.keys(STYLES).filter((name) => panels.some(([, lines]) => lines.has(name)))
  const { node, processor } = run.machine
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="13" fill="#111827">
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="${PANEL.left}" y="24" font-size="16" font-weight="bold">Nanoseconds a decision by number of rules</text>
${panels.map(([name, lines], index) => panel(name, lines, index, decades)).join('\n')}
${used.map(legendEntry).join('\n')}
<text x="${PANEL.left}" y="${HEIGHT - 12}" font-size="11" fill="#4b5563">${escape(`mixed requests, fresh strings; ${run.mode} run of ${run.started_at.slice(0, 10)}, Node ${node}, ${processor}`)}</text>
</svg>
`
}

function linesOf(run: Results, domain: DomainName): Lines {
  const lines = new Map<string, Point[]>()
  for (const { case: each, figures } of run.results) {
    if (each.kind !== 'decide' || each.domain !== domain) continue
    if (each.mix !== 'mixed' || each.strings !== 'fresh') continue
    for (const { contender, value } of figures)
      lines.set(contender, [...(lines.get(contender) ?? []), { size: each.size, ns: value }])
  }
  return lines
}

interface Span {
  readonly from: number
  readonly to: number
}

/** The decades that hold all values, as powers of ten. */
function spanOf(values: readonly number[]): Span {
  if (values.length === 0) return { from: 0, to: 1 }
  const from = Math.floor(Math.log10(Math.min(...values)))
  return { from, to: Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values)))) }
}

function panel(
  name: DomainName,
  lines: Lines,
  index: number,
  decades: { readonly size: Span; readonly ns: Span },
): string {
  const left = PANEL.left + index * (PANEL.width + PANEL.gap)
  const bottom = PANEL.top + PANEL.height
  const x = (size: number): number => left + PANEL.width * share(size, decades.size)
  const y = (ns: number): number => bottom - PANEL.height * share(ns, decades.ns)
  const columns = powers(decades.size).map(
    (size) =>
      `<path d="M${x(size)} ${PANEL.top}V${bottom}" stroke="#e5e7eb"/><text x="${x(size)}" y="${bottom + 18}" text-anchor="middle">${formatNumber(size)}</text>`,
  )
  const rows = powers(decades.ns).map((ns) => {
    const label = `<text x="${left - 8}" y="${y(ns) + 4}" text-anchor="end">${formatNumber(ns)}</text>`
    return `<path d="M${left} ${y(ns)}h${PANEL.width}" stroke="#e5e7eb"/>${index === 0 ? label : ''}`
  })
  const drawn = [...lines].map(([contender, points]) => {
    const at = points.map(({ size, ns }) => `${x(size).toFixed(1)},${y(ns).toFixed(1)}`)
    const dots = at
      .map((point) => `<circle r="3" stroke-dasharray="none" transform="translate(${point})"/>`)
      .join('')
    return `<g ${strokeOf(contender)} fill="#ffffff"><polyline fill="none" points="${at.join(' ')}"/>${dots}</g>`
  })
  const title = `<text x="${left}" y="${PANEL.top - 10}" font-weight="bold">${name}</text>`
  return [title, ...columns, ...rows, ...drawn].join('\n')
}

function legendEntry(name: string, index: number): string {
  const x = PANEL.left + (index % 4) * 250
  const y = PANEL.top + PANEL.height + 44 + Math.floor(index / 4) * 22
  return `<path d="M${x} ${y - 4}h34" ${strokeOf(name)}/><text x="${x + 42}" y="${y}">${escape(name)}</text>`
}

function strokeOf(name: string): string {
  const style = STYLES[name] ?? 'stroke="#111827"'
  return style.includes('stroke-width') ? style : `${style} stroke-width="2"`
}

function share(value: number, { from, to }: Span): number {
  return (Math.log10(value) - from) / (to - from)
}

function powers({ from, to }: Span): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index))
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
