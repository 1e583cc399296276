import { describe, expect, it } from 'vitest'
import { CREATE, CREATE_ALONE, POLL } from '../../../bench/src/server/cases/request-rows.ts'
import { judgeServer } from '../../../bench/src/server/goals.ts'
import { rangeOf } from '../../../bench/src/measure/range.ts'
import type { Row } from '../../../bench/src/server/rounds.ts'
import { verdictOf } from '../../../bench/src/goals/goal.ts'

const row = (name: string, ratio: number, ...perSecond: number[]): Row => ({
  name,
  cpu_us: rangeOf([1]),
  ratio: rangeOf([ratio]),
  per_second: rangeOf(perSecond),
  per_second_rounds: perSecond,
  p99_ms: rangeOf([1]),
  requests: 1,
})
/** Figures of a run without measurements. */
const NOTHING = {
  rows: [],
  start: null,
  large: null,
  publish: null,
  proofs: null,
  evidence: [],
  hostile: null,
}
const judge = (rows: readonly Row[]) => {
  const goals = judgeServer({
    rows,
    start: null,
    large: null,
    publish: null,
    proofs: null,
    evidence: [],
    hostile: null,
  })
  return (name: string) => {
    const goal = goals.find((each) => each.name === name)
    return goal === undefined ? 'no such goal' : verdictOf(goal)
  }
}

describe('the goals of the server', () => {
  it('are met at their bound', () => {
    expect(judge([row(POLL, 0.55, 1)])(POLL)).toBe('met')
    expect(judge([row(POLL, 0.54, 1)])(POLL)).toBe('missed')
  })

  it('compare durable writes with one commit per write', () => {
    const together = `${CREATE}, a second`
    expect(judge([row(CREATE, 1, 300), row(CREATE_ALONE, 1, 100)])(together)).toBe('met')
    expect(judge([row(CREATE, 1, 299), row(CREATE_ALONE, 1, 100)])(together)).toBe('missed')
  })

  it('compare within each round, because the machine may be slower in another', () => {
    const rows = [row(CREATE, 1, 400, 40, 80), row(CREATE_ALONE, 1, 100, 10, 80)]
    const goals = judgeServer({
      rows,
      start: null,
      large: null,
      publish: null,
      proofs: null,
      evidence: [],
      hostile: null,
    })
    const goal = goals.find(({ name }) => name === `${CREATE}, a second`)

    expect(goal?.reached).toBe(4)
    expect(goal?.range).toEqual({ median: 4, least: 1, most: 4 })
  })

  it('bound the memory of two million proofs', () => {
    const verdict = (mib: number) => {
      const goals = judgeServer({ ...NOTHING, proofs: mib * 1024 * 1024 })
      return goals.filter(({ reached }) => reached !== null).map(verdictOf)
    }

    expect(verdict(256)).toEqual(['met'])
    expect(verdict(257)).toEqual(['missed'])
  })

  it('are not measured without figures', () => {
    const goals = judgeServer({
      rows: [],
      start: null,
      large: null,
      publish: null,
      proofs: null,
      evidence: [],
      hostile: null,
    })

    expect(new Set(goals.map(verdictOf))).toEqual(new Set(['not measured']))
  })
})

describe('the goals beside hostile loads', () => {
  const hostile = (p99Ms: number, failed: number, survives: boolean) => ({
    rows: [
      {
        name: 'load',
        rest_p50_ms: 1,
        rest_p99_ms: 10,
        p50_ms: 2,
        p99_ms: p99Ms,
        failed,
        statuses: { '429': 1 },
      },
    ],
    peak_rss: 600 * 1024 * 1024,
    survives_small_heap: survives,
  })
  const verdicts = (result: ReturnType<typeof hostile>) =>
    judgeServer({
      rows: [],
      start: null,
      large: null,
      publish: null,
      proofs: null,
      evidence: [],
      hostile: result,
    })
      .slice(-5)
      .map(verdictOf)

  it('are met at their bounds', () => {
    expect(new Set(verdicts(hostile(50, 0, true)))).toEqual(new Set(['met']))
  })

  it('are missed by slow answers, failed answers and an ended server', () => {
    expect(verdicts(hostile(51, 1, false))).toEqual(['missed', 'missed', 'missed', 'met', 'missed'])
  })
})

describe('a range', () => {
  it('has a median, a minimum and a maximum', () => {
    expect(rangeOf([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 })
  })
})
