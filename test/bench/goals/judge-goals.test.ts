import { describe, expect, it } from 'vitest'
import type { Case, CaseResult, Figure } from '../../../bench/src/case.ts'
import { verdictOf, type Goal } from '../../../bench/src/goals/goal.ts'
import { judgeGoals } from '../../../bench/src/goals/judge-goals.ts'
import { formatGoals } from '../../../bench/src/report/goals-table.ts'

const OURS = 'palisade decide'

function figure(contender: string, value: number, more: Partial<Figure> = {}): Figure {
  const rest = { unit: 'ns a decision', ratio: 1, spread: null, to_ours: null, rounds: 9 } as const
  return { contender, value, ...rest, ...more }
}

function result(each: Case, ...figures: Figure[]): CaseResult {
  return { case: each, figures, left_out: [] }
}

function mixed(peers: boolean, size: number, ...figures: Figure[]): CaseResult {
  const kind = { kind: 'decide', mix: 'mixed', strings: 'fresh' } as const
  return result({ ...kind, peers, domain: 'hosts', size, budgetMs: 1 }, ...figures)
}

function alone(size: number, ...figures: Figure[]): CaseResult {
  return mixed(false, size, ...figures)
}

function find(goals: readonly Goal[], name: string, size: number | null = null): Goal {
  const goal = goals.find((each) => {
    return each.name === name && each.size === size && each.domain === 'hosts'
  })
  if (goal === undefined) throw new Error(`no goal \`${name}\` at ${String(size)}`)
  return goal
}

describe('judgeGoals', () => {
  it('judges our time by the median ratio to the baseline, measured without peers', () => {
    const spread = { q1: 2.3, q3: 2.7 }
    const goals = judgeGoals([
      mixed(true, 1000, figure(OURS, 300, { ratio: 2.9, spread })),
      alone(1000, figure(OURS, 150, { ratio: 2.4, spread })),
    ])

    const goal = find(goals, 'decide / Map.get', 1000)

    expect(goal).toMatchObject({ reached: 2.4, spread, must: 2.75 })
    expect(verdictOf(goal)).toBe('met')
    expect(verdictOf({ ...goal, reached: 2.76 })).toBe('missed')
  })

  it('divides our time at 10,000 resources by that at 100', () => {
    const goals = judgeGoals([alone(100, figure(OURS, 100)), alone(10_000, figure(OURS, 160))])

    const goal = find(goals, 'growth, 100 to 10,000')

    expect(goal.reached).toBeCloseTo(1.6)
    expect(verdictOf(goal)).toBe('missed')
  })

  it('compares with the closest peer and never with the baseline', () => {
    const beside = (ratio: number) => ({ to_ours: { ratio, q1: ratio - 1, q3: ratio + 1 } })
    const figures = [
      figure('Map.get', 1),
      figure(OURS, 2),
      figure('casbin', 900, beside(450)),
      figure('picomatch', 500, beside(250)),
    ]

    const goal = find(judgeGoals([mixed(true, 1000, ...figures)]), 'best peer / decide', 1000)

    expect(goal).toMatchObject({ reached: 250, note: 'picomatch', spread: { q1: 249, q3: 251 } })
    expect(verdictOf(goal)).toBe('met')
    expect(verdictOf({ ...goal, reached: 119 })).toBe('missed')
  })

  it('judges the first compilation by its total time', () => {
    const each: Case = { kind: 'first compile', domain: 'hosts', size: 1000 }
    const judge = (us: number) => {
      const compiled = figure('palisade compilePolicy', us, { unit: 'us a resource, first' })
      return find(judgeGoals([result(each, compiled)]), 'first compilation', 1000)
    }

    expect(judge(40)).toMatchObject({ unit: 'ms', reached: 40 })
    expect(verdictOf(judge(40))).toBe('met')
    expect(verdictOf(judge(41))).toBe('missed')
  })

  it('lets a RegExp of ten rules be up to 2.5 times as fast', () => {
    const judge = (ratio: number) => {
      const regexp = figure('RegExp', 9, { to_ours: { ratio, q1: ratio, q3: ratio } })
      const goals = judgeGoals([mixed(true, 10, figure('Map.get', 1), figure(OURS, 2), regexp)])
      return verdictOf(find(goals, 'best peer / decide', 10))
    }

    expect([judge(0.4), judge(0.39)]).toEqual(['met', 'missed'])
  })

  it('bounds the time of an explanation in which every rule matches', () => {
    const each: Case = { kind: 'explain all', call: 'warm' }
    const name = 'explain, every rule matches, warm'
    const judge = (value: number) => {
      const explained = figure('palisade explain', value, { unit: 'ms, warm' })
      return find(judgeGoals([result(each, explained)]), name, 25_000)
    }

    expect(verdictOf(judge(50))).toBe('met')
    expect(verdictOf(judge(51))).toBe('missed')
  })

  it('bounds memory after compilation and after decisions', () => {
    const each: Case = { kind: 'compile', domain: 'hosts', size: 10_000, budgetMs: 1 }
    const name = 'palisade compilePolicy'
    const goals = judgeGoals([
      result(
        each,
        figure(name, 150, { unit: 'B a resource' }),
        figure(name, 251, { unit: 'B a resource, decided' }),
      ),
    ])

    const verdicts = ['memory a resource', 'memory a resource, after decisions']
      .map((goal) => find(goals, goal, 10_000))
      .map(verdictOf)

    expect(verdicts).toEqual(['met', 'missed'])
  })

  it('lists every goal as not measured when the run has no figures', () => {
    const goals = judgeGoals([])

    expect(goals.length).toBeGreaterThan(30)
    expect(goals.map(verdictOf)).toEqual(goals.map(() => 'not measured'))
    expect(formatGoals(goals)).toMatch(/goals: 0 met, 0 missed, \d+ not measured/)
  })
})
