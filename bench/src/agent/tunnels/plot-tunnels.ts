import { formatNumber } from '../../report/format-number.ts'
import { escapeText, STYLE_SHEET } from '../../report/plot-style.ts'
import type { Results } from '../../report/results.ts'
import type { ProxyFigures, TunnelsResult } from '../cases/tunnels.ts'

const PLOT = { left: 150, top: 74, width: 430 } as const
const BAR = { height: 16, step: 24 } as const
const PANEL_HEAD = 34
const PANEL_GAP = 20
const WIDTH = PLOT.left + PLOT.width + 110
const TITLE = 'Tunnels through proxies on one machine'
const OURS = 'palisade'
const BARS = `
.bar{fill:#8c959f}.bar.ours{fill:#0550ae}
@media (prefers-color-scheme:dark){.bar{fill:#6e7681}.bar.ours{fill:#58a6ff}}
`

interface Panel {
  readonly title: string
  readonly unit: string
  readonly figure: (of: ProxyFigures) => number
}

const PANELS: readonly Panel[] = [
  {
    title: 'processor time of a new tunnel, less is better',
    unit: 'µs',
    figure: ({ new_cpu_us }) => new_cpu_us.median,
  },
  {
    title: 'processor time of a request in a tunnel, less is better',
    unit: 'µs',
    figure: ({ kept_cpu_us }) => kept_cpu_us.median,
  },
  {
    title: 'bulk through one tunnel, more is better',
    unit: 'MiB/s',
    figure: ({ bulk_mib_per_s }) => bulk_mib_per_s.median,
  },
]

/** Plots the medians of each proxy as bars. Every panel has a linear scale of its own. */
export function plotTunnels(
  { proxies }: Pick<TunnelsResult, 'proxies'>,
  run: { readonly mode: string; readonly started_at: string; readonly machine: Results['machine'] },
): string {
  const panelHeight = PANEL_HEAD + proxies.length * BAR.step + PANEL_GAP
  const height = PLOT.top + PANELS.length * panelHeight + 30
  const panels = PANELS.map((panel, index) =>
    drawPanel(panel, proxies, PLOT.top + index * panelHeight),
  )
  const { node, processor } = run.machine
  const about = `${run.mode} run of ${run.started_at.slice(0, 10)}, Node ${node}, ${processor}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}"
  width="${WIDTH}" height="${height}"
  role="img" aria-label="${TITLE}">
<style>${STYLE_SHEET}${BARS}</style>
<rect class="page" width="100%" height="100%"/>
<text class="title" x="${PLOT.left}" y="30">${TITLE}</text>
<text class="about" x="${PLOT.left}" y="52">medians; 16 connections at once</text>
${panels.join('\n')}
<text class="about" x="${PLOT.left}" y="${height - 14}">${escapeText(about)}</text>
</svg>
`
}

function drawPanel(
  { title, unit, figure }: Panel,
  proxies: readonly ProxyFigures[],
  top: number,
): string {
  const most = Math.max(...proxies.map(figure))
  const bars = proxies.map((of, index) => {
    const value = figure(of)
    const y = top + PANEL_HEAD + index * BAR.step
    const width = (PLOT.width * value) / most
    const style = of.name === OURS ? 'bar ours' : 'bar'
    return (
      `<text class="tick" x="${PLOT.left - 9}" y="${y + 13}" ` +
      `text-anchor="end">${escapeText(of.name)}</text>` +
      `<rect class="${style}" x="${PLOT.left}" y="${y}" ` +
      `width="${width.toFixed(1)}" height="${BAR.height}"/>` +
      `<text class="tick" x="${(PLOT.left + width + 8).toFixed(1)}" ` +
      `y="${y + 13}">${formatNumber(value)} ${unit}</text>`
    )
  })
  return [`<text class="panel" x="${PLOT.left}" y="${top + 14}">${title}</text>`, ...bars].join(
    '\n',
  )
}
