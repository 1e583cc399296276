import { describe, expect, it } from 'vitest'
import { judgeAgent } from '../../../bench/src/agent/goals.ts'
import { verdictOf } from '../../../bench/src/goals/goal.ts'
import { rangeOf } from '../../../bench/src/measure/range.ts'

const MIB = 1024 * 1024

const rest = (mib: number, share: number) => ({
  idle_rss: rangeOf([mib * MIB]),
  polled_rss: rangeOf([mib * MIB]),
  idle_share: rangeOf([0]),
  poll_cpu_ms: rangeOf([0]),
  share: rangeOf([share]),
  polls: 1,
})

const latencies = (ms: number) => ({
  p50: rangeOf([1]),
  p99: rangeOf([ms]),
  max: rangeOf([100]),
  decisions: 1,
})

const updates = (atRest: number, beside: number) => ({
  rest: latencies(atRest),
  chunked: latencies(beside),
  large: latencies(beside),
  took_ms: rangeOf([1]),
  rules: 1,
})

describe('the goals of the agent', () => {
  it('are met at their bound', () => {
    const verdicts = (mib: number, share: number) =>
      judgeAgent({
        start: null,
        rest: rest(mib, share),
        updates: null,
        tunnels: null,
        localApi: null,
        client: null,
      })
        .filter(({ reached }) => reached !== null)
        .map(verdictOf)

    expect(verdicts(110, 0.001)).toEqual(['met', 'met', 'met'])
    expect(verdicts(111, 0.0011)).toEqual(['missed', 'missed', 'missed'])
  })

  it('bound decisions during updates, not at rest', () => {
    const verdicts = (atRest: number, beside: number) =>
      judgeAgent({
        start: null,
        rest: null,
        tunnels: null,
        localApi: null,
        client: null,
        updates: updates(atRest, beside),
      })
        .filter(({ reached }) => reached !== null)
        .map(verdictOf)

    expect(verdicts(30, 20)).toEqual(['met', 'met'])
    expect(verdicts(1, 20.1)).toEqual(['missed', 'missed'])
  })

  it('are not measured without figures', () => {
    const goals = judgeAgent({
      start: null,
      rest: null,
      updates: null,
      tunnels: null,
      localApi: null,
      client: null,
    })

    expect(new Set(goals.map(verdictOf))).toEqual(new Set(['not measured']))
  })
})
