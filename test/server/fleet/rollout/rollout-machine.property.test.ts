import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  beginRollout,
  isEnded,
  stepRollout,
  type RolloutProgress,
  type RolloutStep,
} from '../../../../server/src/fleet/rollout/rollout-machine.ts'

const AT = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'
const STAGES = [{ label: 'canary' }, { percent: 10 }, { percent: 50 }, { percent: 100 }]

const anyStep: fc.Arbitrary<RolloutStep> = fc.oneof(
  fc.integer({ min: 0, max: 6 }).map((to) => ({ kind: 'advance', to }) as const),
  fc.constant({ kind: 'pause', by: 'user:ann', reason: null } as const),
  fc
    .option(fc.record({ machines: fc.nat(9) }))
    .map((max_rejected) => ({ kind: 'resume', max_rejected }) as const),
  fc.constant({ kind: 'finish' } as const),
  fc.constant({ kind: 'roll_back' } as const),
)

function begin(): RolloutProgress {
  return beginRollout({ stages: STAGES, max_rejected: { machines: 0 }, wait_seconds: null }, AT)
}

/** The allowed steps, as an independent specification. */
function isAllowed({ state, stage }: RolloutProgress, step: RolloutStep): boolean {
  if (step.kind === 'finish' || step.kind === 'roll_back')
    return state === 'running' || state === 'paused'
  if (step.kind === 'resume') return state === 'paused'
  if (step.kind === 'pause') return state === 'running'
  return state === 'running' && step.to > stage && step.to <= STAGES.length
}

describe('a rollout', () => {
  it('allows exactly the steps of its state, and never goes back', () => {
    const property = fc.property(fc.array(anyStep, { maxLength: 20 }), (steps) => {
      let rollout = begin()
      for (const step of steps) {
        const stepped = stepRollout(rollout, step, LATER)
        expect(stepped.ok).toBe(isAllowed(rollout, step))
        if (!stepped.ok) continue
        const next = stepped.rollout
        expect(next.stage).toBe(step.kind === 'advance' ? step.to : rollout.stage)
        expect(next.ended_at === null).toBe(!isEnded(next))
        const by =
          next.state === 'running' ? null : step.kind === 'pause' ? 'user:ann' : next.paused_by
        expect(next.paused_by).toBe(by)
        expect(next.stages).toBe(rollout.stages)
        rollout = next
      }
    })
    fc.assert(property, { numRuns: 1000 })
  })

  it('starts with its first stage', () => {
    expect(begin()).toMatchObject({ state: 'running', stage: 1, stage_at: AT, counted_from: AT })
  })

  it('counts again from its resumption, with a new limit if one is given', () => {
    const paused = { ...begin(), state: 'paused', paused_at: AT, paused_by: 'a' } as const

    const same = stepRollout(paused, { kind: 'resume', max_rejected: null }, LATER)
    const other = stepRollout(paused, { kind: 'resume', max_rejected: { percent: 5 } }, LATER)

    const expected = { state: 'running', counted_from: LATER, stage_at: AT, paused_by: null }
    expect(same).toMatchObject({ rollout: { ...expected, max_rejected: { machines: 0 } } })
    expect(other).toMatchObject({ rollout: { ...expected, max_rejected: { percent: 5 } } })
  })

  it.each([
    [{ kind: 'advance', to: 1 }, 'running', /reached stage 1 already/],
    [{ kind: 'advance', to: 5 }, 'running', /has 4 stages; finish it/],
    [{ kind: 'advance', to: 2 }, 'paused', /paused; resume it first/],
    [{ kind: 'finish' }, 'finished', /is finished/],
    [{ kind: 'resume', max_rejected: null }, 'rolled_back', /is rolled back/],
  ] as const)('explains why %j is refused while %s', (step, state, message) => {
    const stepped = stepRollout({ ...begin(), state }, step, LATER)
    expect(stepped).toEqual({ ok: false, message: expect.stringMatching(message) })
  })
})
