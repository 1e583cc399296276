import { describe, expect, it } from 'vitest'
import { summarizeStart, type StartRound } from '../../../../bench/src/sandbox/cases/start.ts'

const round = (change: Partial<StartRound> = {}): StartRound => ({
  node: 20,
  client: 25,
  palisade: 45,
  bubblewrap: 10,
  sandbox_runtime: 450,
  mxc: 90,
  ...change,
})

describe('summarizeStart', () => {
  it('divides within each round', () => {
    const slow = round({ node: 40, client: 50, palisade: 90, bubblewrap: 20, sandbox_runtime: 900 })
    const summary = summarizeStart([round(), slow, slow])

    expect(summary.client_ratio).toEqual({ median: 1.25, least: 1.25, most: 1.25 })
    expect(summary.bubblewrap_ratio).toEqual({ median: 2, least: 2, most: 2 })
    expect(summary.sandbox_runtime_ratio).toEqual({ median: 10, least: 10, most: 10 })
    expect(summary.mxc_ratio).toEqual({ median: 1, least: 1, most: 2 })
    expect(summary.ms.palisade).toEqual({ median: 90, least: 45, most: 90 })
    expect(summary.rounds).toBe(3)
  })

  it('has no figures of a peer that is left out, also in one round only', () => {
    const summary = summarizeStart([
      round({ mxc: null }),
      round({ mxc: null, sandbox_runtime: null }),
      round({ mxc: null }),
    ])

    expect(summary.mxc_ratio).toBeNull()
    expect(summary.ms.mxc).toBeNull()
    expect(summary.sandbox_runtime_ratio).toBeNull()
    expect(summary.ms.bubblewrap).toEqual({ median: 10, least: 10, most: 10 })
  })
})
