import { escapeText, STYLE_SHEET } from '../../report/plot-style.ts'
import type { FleetRun } from '../run-fleet.ts'
import type { Bucket, FleetSummary } from '../summarize.ts'

const LEFT = 84
const WIDTH = 640
const LABELS = 190
const RATES = { top: 96, height: 230 } as const
const SHARES = { top: 396, height: 150 } as const
const BOTTOM = SHARES.top + SHARES.height
const HEIGHT = BOTTOM + 78

interface Line {
  readonly name: string
  readonly style: string
  readonly at: readonly (readonly [seconds: number, value: number])[]
}

/**
 * Draws requests per second above; below, the share of updated agents and the server's processor
 * use.
 */
export function plotFleet(run: FleetRun, { buckets }: FleetSummary): string {
  const { marks, extent, machine } = run
  const endS = marks.endMs / 1000
  const x = (seconds: number): number => LEFT + (WIDTH * seconds) / endS
  const rates: Line[] = [
    { name: 'all requests', style: 'c2', at: pick(buckets, ({ requests }) => requests) },
    { name: 'polls', style: 'ours c0', at: pick(buckets, ({ polls }) => polls) },
    { name: 'not answered', style: 'c7', at: pick(buckets, ({ unanswered }) => unanswered) },
    { name: 'asked to wait', style: 'c4', at: pick(buckets, ({ busy }) => busy) },
  ]
  const most = Math.max(1, ...rates.flatMap(({ at }) => at.map(([, value]) => value)))
  const step = stepOf(most)
  const topRate = step * Math.ceil(most / step)
  const shares: Line[] = [
    {
      name: 'have the change',
      style: 'ours c4',
      at: pick(buckets, ({ adopted }) => (100 * adopted) / extent.agents),
    },
    {
      name: 'processor of the server',
      style: 'c7',
      at: pick(buckets, ({ server_cpu }) => 100 * (server_cpu ?? 0)),
    },
  ]
  const rateY = (value: number): number => RATES.top + RATES.height * (1 - value / topRate)
  const shareY = (value: number): number => SHARES.top + SHARES.height * (1 - value / 100)
  const rateTicks = Array.from({ length: topRate / step + 1 }, (_, index) => index * step)
  const about =
    `${extent.agents.toLocaleString('en')} agents in one process, ` +
    `${run.started_at.slice(0, 10)}, Node ${machine.node}, ${machine.processor}, ` +
    `load ${machine.load} on ${machine.processors}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + LABELS} ${HEIGHT}"
  width="${LEFT + WIDTH + LABELS}" height="${HEIGHT}"
  role="img" aria-label="A fleet through a change and an outage">
<style>${STYLE_SHEET}.mark{stroke:#9da7b3;stroke-dasharray:3 3}</style>
<rect class="page" width="100%" height="100%"/>
<text class="title" x="${LEFT}" y="30">A fleet through a change and an outage</text>
<text class="about" x="${LEFT}" y="50">requests a second, mean of ten seconds</text>
${rateTicks.map((tick) => drawTick(rateY(tick), String(tick))).join('\n')}
${drawMarks(run, x)}
${drawLines(rates, x, rateY)}
<text class="about" x="${LEFT}" y="${SHARES.top - 16}">percent</text>
${[0, 50, 100].map((tick) => drawTick(shareY(tick), `${tick}`)).join('\n')}
${drawLines(shares, x, shareY)}
${minutesOf(endS)
  .map(
    (minute) =>
      `<text class="tick" x="${x(minute * 60).toFixed(1)}" y="${BOTTOM + 20}" ` +
      `text-anchor="middle">${minute}</text>`,
  )
  .join('\n')}
<text class="tick" x="${LEFT + WIDTH / 2}" y="${BOTTOM + 42}" text-anchor="middle">minutes</text>
<text class="about" x="${LEFT}" y="${HEIGHT - 12}">${escapeText(about)}</text>
</svg>
`
}

function pick(buckets: readonly Bucket[], read: (bucket: Bucket) => number): Line['at'] {
  return buckets.map((bucket) => [bucket.at_s + 5, read(bucket)] as const)
}

/** Returns 1, 2 or 5 times a power of ten, so that an axis has four to ten ticks. */
function stepOf(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most / 4))
  return power * ([1, 2, 5].findLast((factor) => power * factor <= most / 4) ?? 1)
}

function minutesOf(endS: number): number[] {
  const every = endS > 900 ? 5 : 1
  return Array.from({ length: Math.floor(endS / 60 / every) + 1 }, (_, index) => index * every)
}

function drawTick(y: number, label: string): string {
  return (
    `<path class="grid" d="M${LEFT} ${y.toFixed(1)}h${WIDTH}"/>` +
    `<text class="tick" x="${LEFT - 9}" y="${(y + 4).toFixed(1)}" ` +
    `text-anchor="end">${label}</text>`
  )
}

function drawMarks({ marks }: FleetRun, x: (seconds: number) => number): string {
  const named: readonly (readonly [string, number])[] = [
    ['change', marks.changedMs],
    ['server ends', marks.downMs],
    ['server is back', marks.upMs],
  ]
  return named
    .map(([name, atMs]) => {
      const at = x(atMs / 1000).toFixed(1)
      return (
        `<path class="mark" d="M${at} ${RATES.top - 8}V${BOTTOM}"/>` +
        `<text class="tick" x="${at}" y="${RATES.top - 14}" text-anchor="middle">${name}</text>`
      )
    })
    .join('\n')
}

function drawLines(
  lines: readonly Line[],
  x: (seconds: number) => number,
  y: (value: number) => number,
): string {
  const drawn = lines.map(({ style, at }) => {
    const points = at.map(([seconds, value]) => `${x(seconds).toFixed(1)},${y(value).toFixed(1)}`)
    return `<g class="line ${style}"><polyline points="${points.join(' ')}"/></g>`
  })
  // Names stand beside the plot, because the ends of the lines overlap.
  const top = y(0) - 20 * lines.length
  const names = lines.map(
    ({ name, style }, index) =>
      `<text class="name ${style}" x="${LEFT + WIDTH + 12}" ` +
      `y="${(top + 20 * index + 10).toFixed(1)}">${escapeText(name)}</text>`,
  )
  return [...drawn, ...names].join('\n')
}
