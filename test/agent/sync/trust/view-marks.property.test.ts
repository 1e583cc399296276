import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { NO_GRANTS } from '../../../../agent/src/sync/trust/grant-ledger.ts'
import {
  formatState,
  isAhead,
  type TrustedState,
} from '../../../../agent/src/sync/trust/trusted-state.ts'
import {
  isBehind,
  NO_MARKS,
  withMark,
  type Issue,
  type ViewMarks,
} from '../../../../agent/src/sync/trust/view-marks.ts'
import { casesOfRun } from '../../../lanes/run-size.ts'

const MINUTE_MS = 60_000
/** More than the marks that are kept, 1,024. */
const VIEWS = 1_100 + casesOfRun(3_900)
const BEGIN_MS = Date.parse('2026-01-01T00:00:00Z')

const releaseOf = (view: string, version: number, issuedMs: number): Issue => ({
  view,
  versions: { timestamp: version, snapshot: version, targets: version },
  issuedMs,
})

const stateWith = (marks: ViewMarks, issued_ms: number): TrustedState => ({
  org: 'acme',
  device_id: 'device',
  roots: [],
  view: null,
  newest_assignment: null,
  grants: NO_GRANTS,
  is_revoked: false,
  issued_ms,
  ...marks,
})

/** Accepts each issue that is not behind, in order. */
function accept(issues: readonly Issue[], most: number): ViewMarks {
  return issues.reduce(
    (marks, issue) => (isBehind(marks, issue) ? marks : take(marks, issue, most)),
    NO_MARKS,
  )
}

const take = (marks: ViewMarks, issue: Issue, most?: number): ViewMarks =>
  withMark(marks, issue, most)

/** One release a minute, signed by one of two servers whose clocks are up to ten minutes apart. */
const releases = fc
  .array(fc.record({ view: fc.nat(7), aheadMs: fc.nat(10 * MINUTE_MS) }), { maxLength: 60 })
  .map((signed) =>
    signed.map(({ view, aheadMs }, n) =>
      releaseOf(`view-${view}`, n + 1, BEGIN_MS + n * MINUTE_MS + aheadMs),
    ),
  )

describe('marks of views that are dropped', () => {
  property.prop([releases, fc.array(fc.nat(), { maxLength: 60 }), fc.integer({ min: 1, max: 4 })])(
    'refuse every older version that the full set of marks would refuse',
    (signed, order, most) => {
      let [bounded, unbounded] = [NO_MARKS, NO_MARKS]
      for (const pick of order) {
        const issue = signed[pick % Math.max(signed.length, 1)]
        if (issue === undefined || isBehind(bounded, issue)) continue
        bounded = take(bounded, issue, most)
        unbounded = take(unbounded, issue, Infinity)

        expect(Object.keys(bounded.marks).length).toBeLessThanOrEqual(most)
        for (const other of signed)
          if (isBehind(unbounded, other)) expect(isBehind(bounded, other)).toBe(true)
      }
    },
  )

  it('refuse no later issue, of a view with or without a mark', () => {
    const issues = Array.from({ length: 50 }, (_, n) =>
      releaseOf(`view-${n}`, 1, BEGIN_MS + n * 60 * MINUTE_MS),
    )

    const marks = accept(issues, 4)

    const lastMs = issues.at(-1)?.issuedMs ?? 0
    // Each view is signed hourly, at its own minute.
    expect(isBehind(marks, releaseOf('new', 1, lastMs - 60 * MINUTE_MS))).toBe(false)
    expect(isBehind(marks, releaseOf('view-3', 2, lastMs))).toBe(false)
    expect(isBehind(marks, releaseOf('view-3', 1, BEGIN_MS + 3 * 60 * MINUTE_MS))).toBe(true)
  })

  it('leave a readable state after more views than marks are kept', () => {
    let marks = NO_MARKS
    for (let n = 0; n < VIEWS; n += 1)
      marks = take(marks, releaseOf(`${n}`.padStart(64, '0'), n, BEGIN_MS + n * MINUTE_MS))

    expect(formatState(stateWith(marks, 0)).length).toBeLessThan(1024 * 1024)
  })

  it('do not make the copy that still has them the newer one', () => {
    const former = accept([releaseOf('a', 1, BEGIN_MS)], 1)
    const next = take(former, releaseOf('b', 1, BEGIN_MS + MINUTE_MS), 1)
    const [previous, newest] = [stateWith(former, BEGIN_MS), stateWith(next, BEGIN_MS + MINUTE_MS)]

    expect(isAhead(previous, newest)).toBe(false)
    expect(isAhead(newest, previous)).toBe(true)
  })
})
