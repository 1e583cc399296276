import type { Range } from '../measure/range.ts'
import { formatNumber } from '../report/format-number.ts'
import { powers, shareOf, spanOf } from '../report/log-scale.ts'
import { escapeText, STYLE_SHEET } from '../report/plot-style.ts'
import type { Results } from '../report/results.ts'

export interface ReplayPoint {
  readonly records: number
  readonly newly_denied: number
  readonly wall_ms: Range
  readonly cpu_ms: Range
  /** Of a bare scan of the same records. */
  readonly scan_cpu_ms: Range
  /** Bytes. */
  readonly rss: Range
}

const PLOT = { left: 84, top: 74, width: 520, height: 300 } as const
const BOTTOM = PLOT.top + PLOT.height
const WIDTH = PLOT.left + PLOT.width + 190
const HEIGHT = BOTTOM + 82
const TITLE = 'Processor time of a replay by recorded decisions'
const NOTE = '200,000 different requests of 1,000 users in 50 team sets; a hundred policies'

/** Plots milliseconds by records, beside a bare scan of the records. Both axes are logarithmic. */
export function plotReplay({
  points,
  machine,
  started_at,
}: {
  readonly points: readonly ReplayPoint[]
  readonly machine: Results['machine']
  readonly started_at: string
}): string {
  const lines = [
    { name: 'replay', style: 'ours c0', of: (point: ReplayPoint) => point.cpu_ms.median },
    { name: 'bare scan', style: 'c1', of: (point: ReplayPoint) => point.scan_cpu_ms.median },
  ]
  const across = spanOf(points.map(({ records }) => records))
  const up = spanOf(lines.flatMap(({ of }) => points.map(of)))
  const x = (records: number): number => PLOT.left + PLOT.width * shareOf(records, across)
  const y = (ms: number): number => BOTTOM - PLOT.height * shareOf(ms, up)
  const columns = powers(across).map(
    (records) =>
      `<path class="grid" d="M${x(records).toFixed(1)} ${PLOT.top}V${BOTTOM}"/>` +
      `<text class="tick" x="${x(records).toFixed(1)}" y="${BOTTOM + 20}" ` +
      `text-anchor="middle">${formatNumber(records)}</text>`,
  )
  const rows = powers(up).map(
    (ms) =>
      `<path class="grid" d="M${PLOT.left} ${y(ms).toFixed(1)}h${PLOT.width}"/>` +
      `<text class="tick" x="${PLOT.left - 9}" y="${(y(ms) + 4).toFixed(1)}" ` +
      `text-anchor="end">${formatNumber(ms)} ms</text>`,
  )
  const drawn = lines.map(({ name, style, of }) => {
    const places = points.map(
      (point) => `${x(point.records).toFixed(1)},${y(of(point)).toFixed(1)}`,
    )
    const dots = places.map((place) => `<circle r="2.5" transform="translate(${place})"/>`).join('')
    const last = points.at(-1)
    const label =
      last === undefined
        ? ''
        : `<text class="name ${style}" x="${(x(last.records) + 12).toFixed(1)}" ` +
          `y="${(y(of(last)) + 4).toFixed(1)}">${escapeText(name)}</text>`
    return `<g class="line ${style}"><polyline points="${places.join(' ')}"/>${dots}</g>${label}`
  })
  const about = `run of ${started_at.slice(0, 10)}, Node ${machine.node}, ${machine.processor}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}"
  width="${WIDTH}" height="${HEIGHT}"
  role="img" aria-label="${TITLE}">
<style>${STYLE_SHEET}</style>
<rect class="page" width="100%" height="100%"/>
<text class="title" x="${PLOT.left}" y="30">${TITLE}</text>
<text class="about" x="${PLOT.left}" y="52">${NOTE}</text>
${[...columns, ...rows, ...drawn].join('\n')}
<text class="tick" x="${PLOT.left + PLOT.width / 2}" y="${BOTTOM + 44}"
  text-anchor="middle">records</text>
<text class="about" x="${PLOT.left}" y="${HEIGHT - 14}">${escapeText(about)}</text>
</svg>
`
}
