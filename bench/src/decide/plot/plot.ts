import { DOMAIN_NAMES, type DomainName } from '../../workload/domain.ts'
import { formatNumber } from '../../figures/format-number.ts'
import { spreadLabels } from './spread-labels.ts'
import { classOf, escapeText, STYLE_SHEET } from './plot-style.ts'
import type { Results } from '../../figures/results.ts'

const PANEL = { width: 238, height: 318, left: 64, top: 74, labels: 122, gap: 28 } as const
const STRIDE = PANEL.width + PANEL.labels + PANEL.gap
const WIDTH = PANEL.left + 3 * STRIDE
const BOTTOM = PANEL.top + PANEL.height
const HEIGHT = BOTTOM + 66

/** Pixels between the labels at line ends. */
const LABEL_GAP = 16

/** The range of an axis, as exponents of ten. */
interface Span {
  readonly from: number
  readonly to: number
}

interface Point {
  readonly size: number
  readonly ns: number
}
interface Line {
  readonly contender: string
  readonly points: readonly Point[]
}
interface Scales {
  readonly size: Span
  readonly ns: Span
}

/**
 * Plots nanoseconds per decision by number of rules, both logarithmic. Each domain has a panel, and
 * each line is named at its end. The SVG follows the reader's light or dark scheme.
 */
export function plotDecide(run: Results): string {
  const panels = DOMAIN_NAMES.map((name) => [name, linesOf(run, name)] as const)
  const points = panels.flatMap(([, lines]) => lines.flatMap((line) => line.points))
  const sizes = points.map(({ size }) => size)
  const whole = spanOf(sizes)
  const scales = {
    // The axis ends at the last size, not at the next power of ten.
    size: { ...whole, to: Math.max(whole.from + 1, ...sizes.map(Math.log10)) },
    ns: spanOf(points.map(({ ns }) => ns)),
  }
  const { node, processor } = run.machine
  const about =
    `mixed requests, fresh strings; run of ${run.started_at.slice(0, 10)}, ` +
    `Node ${node}, ${processor}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}"
  width="${WIDTH}" height="${HEIGHT}"
  role="img" aria-label="Nanoseconds a decision by number of rules">
<style>${STYLE_SHEET}</style>
<rect class="page" width="100%" height="100%"/>
<text class="title" x="${PANEL.left}" y="30">Nanoseconds a decision by number of rules</text>
${panels.map(([name, lines], index) => drawPanel(name, lines, index, scales)).join('\n')}
<text class="about" x="${PANEL.left}" y="${HEIGHT - 16}">${escapeText(about)}</text>
</svg>
`
}

/** Our line is last, so that it is drawn on top. */
function linesOf(run: Results, domain: DomainName): readonly Line[] {
  const lines = new Map<string, Point[]>()
  for (const [name, rows] of Object.entries(run.figures)) {
    const size = new RegExp(`^${domain} (\\d+)$`).exec(name)?.[1]
    if (size === undefined) continue
    for (const [contender, { ns }] of Object.entries(rows))
      if (ns !== undefined)
        lines.set(contender, [
          ...(lines.get(contender) ?? []),
          { size: Number(size), ns: ns.median },
        ])
  }
  return [...lines]
    .map(([contender, points]) => ({ contender, points }))
    .toSorted((a, b) => Number(isOurs(a)) - Number(isOurs(b)))
}

function isOurs({ contender }: Line): boolean {
  return contender.startsWith('palisade')
}

function drawPanel(
  name: DomainName,
  lines: readonly Line[],
  index: number,
  scales: Scales,
): string {
  const left = PANEL.left + index * STRIDE
  const x = (size: number): number => left + PANEL.width * shareOf(size, scales.size)
  const y = (ns: number): number => BOTTOM - PANEL.height * shareOf(ns, scales.ns)
  const columns = ticksOf(scales.size).map(
    (size) =>
      `<path class="grid" d="M${x(size).toFixed(1)} ${PANEL.top}V${BOTTOM}"/>` +
      `<text class="tick" x="${x(size).toFixed(1)}" y="${BOTTOM + 20}" ` +
      `text-anchor="middle">${formatNumber(size)}</text>`,
  )
  const rows = powers(scales.ns).map((ns) => {
    const label =
      `<text class="tick" x="${left - 9}" y="${(y(ns) + 4).toFixed(1)}" ` +
      `text-anchor="end">${formatNumber(ns)}</text>`
    return (
      `<path class="grid" ` +
      `d="M${left} ${y(ns).toFixed(1)}h${PANEL.width}"/>${index === 0 ? label : ''}`
    )
  })
  const title = `<text class="panel" x="${left}" y="${PANEL.top - 12}">${name}</text>`
  const drawn = lines.map((line) => drawLine(line, x, y))
  return [title, ...columns, ...rows, ...drawn, ...drawLabels(lines, x, y, left)].join('\n')
}

/** The powers of ten, and the end of the axis. */
function ticksOf(span: Span): number[] {
  return [...new Set([...powers(span), Math.round(10 ** span.to)])]
}

type Scale = (value: number) => number

function drawLine({ contender, points }: Line, x: Scale, y: Scale): string {
  const at = points.map(({ size, ns }) => `${x(size).toFixed(1)},${y(ns).toFixed(1)}`)
  const dots = at.map((point) => `<circle r="2.5" transform="translate(${point})"/>`).join('')
  return `<g class="line ${classOf(contender)}"><polyline points="${at.join(' ')}"/>${dots}</g>`
}

/**
 * Draws a name beside each line's end. Names that would overlap move apart, and a thin line
 * connects each to its end.
 */
function drawLabels(lines: readonly Line[], x: Scale, y: Scale, left: number): string[] {
  const ends = lines.flatMap(({ contender, points }) => {
    const last = points.at(-1)
    return last === undefined ? [] : [{ contender, x: x(last.size), y: y(last.ns) }]
  })
  const places = spreadLabels(
    ends.map((end) => end.y),
    { gap: LABEL_GAP, from: PANEL.top, to: BOTTOM },
  )
  const at = left + PANEL.width + 14
  return ends.map((end, index) => {
    const place = places[index] ?? end.y
    const thread = `M${(end.x + 4).toFixed(1)} ${end.y.toFixed(1)}L${at - 4} ${place.toFixed(1)}`
    return (
      `<path class="thread ${classOf(end.contender)}" d="${thread}"/>` +
      `<text class="name ${classOf(end.contender)}" x="${at}" ` +
      `y="${(place + 4).toFixed(1)}">${escapeText(end.contender)}</text>`
    )
  })
}

/** The decades that contain all values; at least one. */
function spanOf(values: readonly number[]): Span {
  if (values.length === 0) return { from: 0, to: 1 }
  const from = Math.floor(Math.log10(Math.min(...values)))
  return { from, to: Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values)))) }
}

/** The position of a value in the span: 0 at its start, 1 at its end. */
function shareOf(value: number, { from, to }: Span): number {
  return (Math.log10(value) - from) / (to - from)
}

/** The powers of ten in the span. `from` must be an integer. */
function powers({ from, to }: Span): number[] {
  return Array.from({ length: Math.floor(to - from) + 1 }, (_, index) => 10 ** (from + index))
}
