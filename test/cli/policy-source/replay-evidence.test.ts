import type { ApplyResponse, ReplayResult } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { mostDenied } from '../../../packages/cli/src/policy-source/replay-plan.ts'

type Change = ApplyResponse['changes'][number]
const NONE = { count: 0, users: 0, devices: 0, first_at: null, last_at: null, example: null }
const REPLAY: Pick<ReplayResult, 'newly_denied' | 'not_judged'> = {
  newly_denied: { count: 2, groups: [], more_groups: 0, more_count: 0 },
  not_judged: [
    { ...NONE, cause: 'path_cut', count: 10 },
    { ...NONE, cause: 'home_unknown', count: 100 },
    { ...NONE, cause: 'too_many', count: 1_000 },
    { ...NONE, cause: 'invalid_request', count: 10_000 },
    { ...NONE, cause: 'not_a_member', count: 100_000 },
  ],
}

type Rule = NonNullable<Change['new']>['rules'][number]

function policy(action: Rule['actions'][number], decision: Rule['decision']): Change['new'] {
  const rule = { name: 'r', actions: [action], decision, resources: ['/srv/**'] }
  return { name: 'p', scope: {}, rules: [rule] }
}

describe('the requests that a replay may deny', () => {
  it('include those beyond its bound', () => {
    expect(mostDenied({ ...REPLAY, not_judged: [] }, [])).toBe(2)
    expect(mostDenied(REPLAY, [])).toBe(1_002)
  })

  it.each<[string, Partial<Change>, number]>([
    ['a deleted rule for paths', { old: policy('read', 'allow') }, 1_112],
    ['a new deny of paths', { new: policy('write', 'deny') }, 1_112],
    ['a new allow of paths', { new: policy('read', 'allow') }, 1_002],
    ['rules for targets', { old: policy('connect:tcp', 'allow') }, 1_002],
  ])('with %s are %j', (_title, change, expected) => {
    const changed: Change = { change: 'updated', name: 'p', ...change }

    expect(mostDenied(REPLAY, [changed])).toBe(expected)
  })
})
