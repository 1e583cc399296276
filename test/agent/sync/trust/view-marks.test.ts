import { describe, expect, it } from 'vitest'
import {
  isBehind,
  NO_MARKS,
  withMark,
  type Issue,
} from '../../../../agent/src/sync/trust/view-marks.ts'

const VERSIONS = { timestamp: 5, snapshot: 5, targets: 5 }

function issue(changes: Partial<Issue> = {}): Issue {
  return { view: 'v', versions: VERSIONS, issuedMs: 1_000, ...changes }
}

describe('the files of a view', () => {
  const marks = withMark(NO_MARKS, issue())

  it.each(['timestamp', 'snapshot', 'targets'] as const)(
    'are behind with an older %s alone',
    (role) => {
      const newer = { timestamp: 9, snapshot: 9, targets: 9 }

      expect(isBehind(marks, issue({ versions: { ...newer, [role]: 4 } }))).toBe(true)
      expect(isBehind(marks, issue({ versions: { ...newer, [role]: 5 } }))).toBe(false)
    },
  )

  it('without a mark must be issued after the floor', () => {
    const floor = { marks: {}, marks_floor_ms: 1_000 }

    expect(isBehind(floor, issue({ issuedMs: 1_000 }))).toBe(true)
    expect(isBehind(floor, issue({ issuedMs: 1_001 }))).toBe(false)
  })

  it('keep the latest issue, so that the floor never falls', () => {
    const later = withMark(withMark(NO_MARKS, issue({ issuedMs: 3_000 })), issue())

    expect(withMark(later, issue({ view: 'w', issuedMs: 4_000 }), 1)).toEqual({
      marks: { w: { ...VERSIONS, issued_ms: 4_000 } },
      // The clocks of two servers may differ by ten minutes.
      marks_floor_ms: 603_000,
    })
  })
})
