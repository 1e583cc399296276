import { describe, expect, it } from 'vitest'
import {
  nextRolloutStep,
  type StageFacts,
} from '../../../../server/src/fleet/rollout/next-rollout-step.ts'
import {
  beginRollout,
  type RolloutProgress,
} from '../../../../server/src/fleet/rollout/rollout-machine.ts'

const START = '2026-11-21T08:00:00.000Z'
const START_MS = Date.parse(START)
const ACTOR = 'rollout:acme:r1'
const STAGES = [{ label: 'canary' }, { percent: 100 }]

const rollout = (changes: Partial<RolloutProgress> = {}): RolloutProgress => ({
  ...beginRollout({ stages: STAGES, max_rejected: { machines: 1 }, wait_seconds: 60 }, START),
  ...changes,
})

/** By default an hour later, with ten machines that are up to date. */
function facts(machines: Partial<StageFacts['machines']>, after = 3600, settled = 0): StageFacts {
  const all = { devices: 10, applied: 10, rejected: 0, pending: 0, silent: 0 }
  return {
    machines: { ...all, rejected_by_code: [], ...machines },
    actor: ACTOR,
    settledMs: START_MS + settled * 1000,
    nowMs: START_MS + after * 1000,
  }
}
const kindOf = (progress: RolloutProgress, given: StageFacts) =>
  nextRolloutStep(progress, given)?.kind ?? null

describe('a running rollout', () => {
  it.each([
    [{ machines: 0 }, 0, null],
    [{ machines: 0 }, 1, 'pause'],
    [{ machines: 2 }, 2, null],
    [{ machines: 2 }, 3, 'pause'],
    [{ percent: 20 }, 2, null],
    [{ percent: 20 }, 3, 'pause'],
    [{ percent: 0 }, 1, 'pause'],
    [{ percent: 100 }, 10, null],
  ] as const)('with the limit %j and %i rejections: %s', (max_rejected, rejected, kind) => {
    const progress = rollout({ max_rejected, wait_seconds: null })

    expect(kindOf(progress, facts({ rejected, applied: 10 - rejected }))).toBe(kind)
  })

  it('has an author and a reason for its pause', () => {
    const rejected_by_code = [
      { code: 'not_compilable', devices: 2 },
      { code: 'mixed', devices: 1 },
    ]

    expect(nextRolloutStep(rollout(), facts({ rejected: 3, rejected_by_code }))).toEqual({
      kind: 'pause',
      by: ACTOR,
      reason: '3 of 10 machines reject it, at most 1 may: 2 not_compilable, 1 mixed',
    })
  })

  it('advances after the wait since its stage and the last change of policies', () => {
    expect(kindOf(rollout(), facts({}, 59))).toBeNull()
    expect(kindOf(rollout(), facts({}, 60))).toBe('advance')
    expect(kindOf(rollout(), facts({}, 60, 30))).toBeNull()
    expect(kindOf(rollout(), facts({}, 90, 30))).toBe('advance')
    expect(kindOf(rollout({ wait_seconds: null }), facts({}))).toBeNull()
  })

  it('advances only to the next stage', () => {
    expect(nextRolloutStep(rollout(), facts({}))).toEqual({ kind: 'advance', to: 2 })
  })

  it.each([
    ['half have it and the others were not seen', { applied: 5, silent: 5 }, 'advance'],
    ['fewer than half have it', { applied: 4, silent: 6 }, null],
    ['one polls without a word of it, which may be', { applied: 9, pending: 1 }, 'advance'],
    ['two do', { applied: 8, pending: 2 }, null],
    ['one does and one refuses it', { applied: 8, pending: 1, rejected: 1 }, null],
    ['there is no machine', { devices: 0, applied: 0 }, null],
  ])('where %s', (_name, machines, kind) => {
    expect(kindOf(rollout(), facts(machines))).toBe(kind)
  })

  it('finishes after a last stage of all machines, and otherwise waits for a caller', () => {
    const last = { stage: 2 }

    expect(kindOf(rollout(last), facts({}))).toBe('finish')
    expect(kindOf(rollout({ stages: [{ label: 'a' }, { percent: 99 }], ...last }), facts({}))).toBe(
      null,
    )
  })
})

it.each(['paused', 'finished', 'rolled_back'] as const)('a %s rollout does nothing', (state) => {
  for (const machines of [{}, { rejected: 10, applied: 0 }])
    expect(kindOf(rollout({ state }), facts(machines))).toBeNull()
})
