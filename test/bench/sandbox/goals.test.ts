import { describe, expect, it } from 'vitest'
import { verdictOf } from '../../../bench/src/goals/goal.ts'
import { rangeOf } from '../../../bench/src/measure/range.ts'
import { judgeSandbox, type SandboxFigures } from '../../../bench/src/sandbox/goals.ts'

const MIB = 1024 * 1024
const of = (value: number) => rangeOf([value])

/** Figures at their bounds, or `by` times worse. */
function figures(by: number): SandboxFigures {
  const way = {
    opened_cpu_us: of(1),
    kept_cpu_us: of(1),
    opened_ratio: of(1.2 * by),
    kept_ratio: of(1.2 * by),
  }
  return {
    start: {
      ms: {
        node: null,
        client: null,
        palisade: null,
        bubblewrap: null,
        sandbox_runtime: null,
        mxc: null,
      },
      client_ratio: of(1.5 * by),
      bubblewrap_ratio: of(3 * by),
      sandbox_runtime_ratio: of(4 / by),
      mxc_ratio: of(2 / by),
      rounds: 1,
      left_out: [],
    },
    requests: { ways: { plain: way, proxied: way, captured: way, looked_up: way }, rounds: 1 },
    large: {
      large_ms: of(300 * by),
      empty_ms: of(1),
      more_ms: of(1),
      files: 1,
      deny_patterns: 1,
      rounds: 1,
    },
    masks: { p50_ms: 100, p99_ms: 20 * by, longest_ms: 100, saves: 1 },
    many: { sandboxes: 100, running: 100 / by, bytes_each: 12 * MIB * by, agent_bytes_each: 0 },
  }
}

describe('the goals of the sandbox', () => {
  it('are met at their bound and missed beyond it', () => {
    expect(new Set(judgeSandbox(figures(1)).map(verdictOf))).toEqual(new Set(['met']))
    expect(new Set(judgeSandbox(figures(1.01)).map(verdictOf))).toEqual(new Set(['missed']))
  })

  it('are not measured without figures', () => {
    const none = { start: null, requests: null, large: null, masks: null, many: null }

    expect(new Set(judgeSandbox(none).map(verdictOf))).toEqual(new Set(['not measured']))
  })

  it('are not measured for a peer that is left out', () => {
    const { start } = figures(1)
    if (start === null) throw new Error('no start')
    const goals = judgeSandbox({ ...figures(1), start: { ...start, mxc_ratio: null } })

    expect(
      goals.filter((goal) => verdictOf(goal) === 'not measured').map(({ name }) => name),
    ).toEqual(['as fast as mxc-sdk with a proxy'])
  })
})
