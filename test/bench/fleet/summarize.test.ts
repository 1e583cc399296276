import { describe, expect, it } from 'vitest'
import { planFleet } from '../../../bench/src/fleet/extent.ts'
import { judgeFleet } from '../../../bench/src/fleet/judge-fleet.ts'
import { plotFleet } from '../../../bench/src/fleet/report/plot-fleet.ts'
import type { FleetRun } from '../../../bench/src/fleet/run-fleet.ts'
import { isFullRun, summarize } from '../../../bench/src/fleet/summarize.ts'
import type { Second } from '../../../bench/src/fleet/timeline.ts'

const AGENTS = 1000
const marks = {
  firstMs: 0,
  changedMs: 300_000,
  downMs: 600_000,
  upMs: 900_000,
  endMs: 1_500_000,
}

/** A run with ten polls per second. `polls` changes the count of single seconds. */
function runOf(
  adoptedMs: readonly number[],
  polls: (second: number) => number = () => 10,
): FleetRun {
  const seconds = Array.from({ length: marks.endMs / 1000 }, (_, at): Second => {
    const isAway = at * 1000 >= marks.downMs && at * 1000 < marks.upMs
    const outcomes = { [isAway ? 'none' : '304']: polls(at) }
    return { sent: { poll: polls(at), fetch: 0, token: 0, report: 0 }, outcomes, adopted: 0 }
  })
  return {
    started_at: '2026-11-22T11:00:00.000Z',
    machine: { node: '24', v8: '13', processor: 'a < b', processors: 2, load: 1 },
    extent: planFleet(AGENTS, 28),
    marks,
    seconds,
    samples: seconds.map((_, at) => ({
      atMs: at * 1000,
      server: 0.05,
      serverRss: 100,
      agents: 0.1,
      agentsRss: 200,
      turnedAway: 0,
      delayMs: 0,
    })),
    adoptedMs,
    applied: 0,
  }
}

const evenly = (count: number) => Array.from({ length: count }, (_, n) => 300 * (n + 1))

describe('summarize', () => {
  it('includes agents that never adopted the change in the percentiles', () => {
    const { convergence } = summarize(runOf(evenly(998)))

    expect(convergence).toEqual({ p50: 150_000, p99: 297_000, p999: null, all: null })
  })

  it('computes the rate and the cost of polls at rest', () => {
    const { steady, failed } = summarize(runOf(evenly(AGENTS)))

    expect(steady.polls_per_second).toBe(10)
    expect(steady.cpu_us_a_poll).toBeCloseTo(5000)
    // Polls during the outage do not count as failed.
    expect(failed).toBe(0)
  })

  it('compares the load after the return with the steady load', () => {
    const wave = (at: number): number => (at >= 900 && at < 910 ? 25 : at >= 1300 ? 13 : 10)

    const { back } = summarize(runOf(evenly(AGENTS), wave))

    expect(back).toMatchObject({ polls_peak: 2.5, requests_peak: 2.5, later_polls_peak: 1.3 })
    expect(back.later_polls_least).toBe(1)
  })
})

describe('the goals of a fleet', () => {
  const verdicts = (run: FleetRun) => judgeFleet(summarize(run)).map(({ verdict }) => verdict)

  it('are met by a fleet that adopts the change in time and returns evenly', () => {
    expect(verdicts(runOf(evenly(AGENTS)))).toEqual(['met', 'met', 'met', 'met', 'met'])
  })

  it('are missed when too many agents adopt the change late or never', () => {
    const late = [...evenly(998), 300_001, 300_002]

    expect(verdicts(runOf(late))[0]).toBe('missed')
    expect(verdicts(runOf(evenly(900)))[0]).toBe('missed')
  })

  it('are missed by a fleet that returns all at once and by one that oscillates', () => {
    const atOnce = runOf(evenly(AGENTS), (at) => (at >= 900 && at < 910 ? 25 : 10))
    const swinging = runOf(evenly(AGENTS), (at) => (at < 1200 ? 10 : at % 60 < 30 ? 15 : 5))

    expect(verdicts(atOnce).slice(1)).toEqual(['missed', 'missed', 'met', 'met'])
    expect(verdicts(swinging).slice(3)).toEqual(['missed', 'missed'])
  })

  it('are not measured when the run ended too early', () => {
    const run = runOf(evenly(AGENTS))
    const short = { ...run, marks: { ...marks, endMs: marks.upMs + 240_000 } }

    expect(verdicts(short).slice(1)).toEqual(['met', 'met', 'not measured', 'not measured'])
  })

  it('apply to full runs alone', () => {
    expect(isFullRun({ extent: planFleet(AGENTS, 28) })).toBe(true)
    expect(isFullRun({ extent: planFleet(AGENTS, 27) })).toBe(false)
  })
})

describe('the plot of a fleet', () => {
  it('draws a line per series and escapes text', () => {
    const run = runOf(evenly(AGENTS))

    const svg = plotFleet(run, summarize(run))

    expect(svg.match(/<polyline/g)).toHaveLength(6)
    expect(svg).toContain('a &lt; b')
    expect(svg).not.toContain('NaN')
    for (const name of ['change', 'server ends', 'server is back', 'polls']) {
      expect(svg).toContain(`>${name}<`)
    }
  })
})
