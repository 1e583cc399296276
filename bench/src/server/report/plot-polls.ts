import { formatNumber } from '../../report/format-number.ts'
import { powers, shareOf, spanOf } from '../../report/log-scale.ts'
import { escapeText, STYLE_SHEET } from '../../report/plot-style.ts'
import type { ServerResults } from './results.ts'

const PLOT = { left: 84, top: 74, width: 520, height: 300 } as const
const BOTTOM = PLOT.top + PLOT.height
const WIDTH = PLOT.left + PLOT.width + 190
const HEIGHT = BOTTOM + 82
const TITLE = 'Polls a second of one processor by connected agents'
const NOTE = 'agents hold no connection between polls; each has its own token, tag and last-seen'
/** The polling period of an agent. */
const INTERVAL_SECONDS = 300

interface Line {
  readonly name: string
  readonly style: string
  readonly at: readonly { readonly agents: number; readonly perSecond: number }[]
}

/**
 * Plots the polls per second that one processor answers by number of agents, beside the rate at
 * which those agents poll and the rate of a bare reply. Both axes are logarithmic.
 */
export function plotPolls(run: ServerResults): string {
  const lines: Line[] = [
    { name: 'bare node:http reply', style: 'c1', at: reached(run, 'bare') },
    { name: 'polls answered 304', style: 'ours c0', at: reached(run, 'poll') },
    {
      name: 'asked for, every 5 min',
      style: 'c2',
      at: run.agents.map(({ agents }) => ({ agents, perSecond: agents / INTERVAL_SECONDS })),
    },
  ]
  const points = lines.flatMap(({ at }) => at)
  const spans = {
    agents: spanOf(points.map(({ agents }) => agents)),
    perSecond: spanOf(points.map(({ perSecond }) => perSecond)),
  }
  const x = (agents: number): number => PLOT.left + PLOT.width * shareOf(agents, spans.agents)
  const y = (perSecond: number): number =>
    BOTTOM - PLOT.height * shareOf(perSecond, spans.perSecond)
  const columns = powers(spans.agents).map(
    (agents) =>
      `<path class="grid" d="M${x(agents).toFixed(1)} ${PLOT.top}V${BOTTOM}"/>` +
      `<text class="tick" x="${x(agents).toFixed(1)}" y="${BOTTOM + 20}" ` +
      `text-anchor="middle">${formatNumber(agents)}</text>`,
  )
  const rows = powers(spans.perSecond).map(
    (perSecond) =>
      `<path class="grid" d="M${PLOT.left} ${y(perSecond).toFixed(1)}h${PLOT.width}"/>` +
      `<text class="tick" x="${PLOT.left - 9}" y="${(y(perSecond) + 4).toFixed(1)}" ` +
      `text-anchor="end">${formatNumber(perSecond)}</text>`,
  )
  const drawn = lines.map(({ name, style, at }) => {
    const places = at.map(
      (point) => `${x(point.agents).toFixed(1)},${y(point.perSecond).toFixed(1)}`,
    )
    const dots = places.map((place) => `<circle r="2.5" transform="translate(${place})"/>`).join('')
    const last = at.at(-1)
    const label =
      last === undefined
        ? ''
        : `<text class="name ${style}" x="${(x(last.agents) + 12).toFixed(1)}" ` +
          `y="${(y(last.perSecond) + 4).toFixed(1)}">${escapeText(name)}</text>`
    return `<g class="line ${style}"><polyline points="${places.join(' ')}"/>${dots}</g>${label}`
  })
  const { node, processor } = run.machine
  const about =
    `${run.mode} run of ${run.started_at.slice(0, 10)}, Node ${node}, ${processor}; ` +
    `64 keep-alive connections`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}"
  width="${WIDTH}" height="${HEIGHT}"
  role="img" aria-label="${TITLE}">
<style>${STYLE_SHEET}</style>
<rect class="page" width="100%" height="100%"/>
<text class="title" x="${PLOT.left}" y="30">${TITLE}</text>
<text class="about" x="${PLOT.left}" y="52">${NOTE}</text>
${[...columns, ...rows, ...drawn].join('\n')}
<text class="tick" x="${PLOT.left + PLOT.width / 2}" y="${BOTTOM + 44}"
  text-anchor="middle">agents that poll in turns</text>
<text class="about" x="${PLOT.left}" y="${HEIGHT - 14}">${escapeText(about)}</text>
</svg>
`
}

function reached(run: ServerResults, lane: 'bare' | 'poll'): Line['at'] {
  return run.agents.map((each) => ({
    agents: each.agents,
    perSecond: 1e6 / each[lane].cpu_us.median,
  }))
}
