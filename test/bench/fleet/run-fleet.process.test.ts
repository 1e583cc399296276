import { describe, expect, it } from 'vitest'
import { runFleet } from '../../../bench/src/fleet/run-fleet.ts'
import { startProcess } from '../../../bench/src/server/measured-process.ts'
import { BUILT_SERVER } from '../../built-programs.ts'
import { summarize } from '../../../bench/src/fleet/summarize.ts'

/**
 * Overload protection is off, so that the load on the machine does not decide which agents are
 * answered.
 */
const UNLIMITED = { PALISADE_OVERLOAD_DELAY_MS: '0' }

describe('runFleet', () => {
  it('runs through a change and an outage with a real server', async () => {
    const extent = {
      agents: 12,
      whole: 2,
      fetching: 6,
      rampMs: 1_000,
      steadyMs: 500,
      changeMs: 500,
      outageMs: 500,
      backMs: 500,
    }

    const run = await runFleet(
      extent,
      () => undefined,
      (PALISADE_DATA_DIR, settings, port) =>
        startProcess(
          [...BUILT_SERVER, 'start'],
          { PALISADE_DATA_DIR, ...UNLIMITED, ...settings },
          '/readyz',
          port,
        ),
    )

    const { marks, seconds } = run
    expect(Object.values(marks)).toEqual(Object.values(marks).toSorted((a, b) => a - b))
    const polls = seconds.reduce((sum, { sent }) => sum + sent.poll, 0)
    const fetched = seconds.reduce((sum, { sent }) => sum + sent.fetch, 0)
    // Every agent polls at its start. Agents without state, and the device that fetches the initial
    // state, fetch all files.
    expect(polls).toBeGreaterThanOrEqual(extent.agents - extent.whole)
    expect(fetched).toBeGreaterThanOrEqual(extent.whole + 1)
    const answered = seconds.reduce((sum, { outcomes }) => sum + (outcomes['304'] ?? 0), 0)
    expect(answered).toBeGreaterThanOrEqual(extent.agents - extent.whole)
    expect(summarize(run).agents_rss).toBeGreaterThan(0)
  })
})
