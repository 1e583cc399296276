import { describe, expect, it } from 'vitest'
import type { ReplayResult } from '@palisade/protocol'
import { mostDenied } from '../../../packages/cli/src/policy-source/replay-plan.ts'

type Counted = Pick<ReplayResult, 'newly_denied' | 'not_judged'>
const NONE = { count: 0, users: 0, devices: 0, first_at: null, last_at: null, example: null }
const denied = (count: number, ...not_judged: Counted['not_judged']): Counted => ({
  newly_denied: { count, groups: [], more_groups: 0, more_count: 0 },
  not_judged,
})

describe('the requests that a replay may deny', () => {
  it('include those beyond its bound, and no others that are not judged', () => {
    const beyond = { ...NONE, cause: 'too_many', count: 7 } as const
    const cut = { ...NONE, cause: 'path_cut', count: 9 } as const

    expect(mostDenied(denied(2))).toBe(2)
    expect(mostDenied(denied(2, cut, beyond))).toBe(9)
  })
})
