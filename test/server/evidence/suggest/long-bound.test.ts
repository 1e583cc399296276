import { describe, expect, it } from 'vitest'
import type {
  ObservedRequest,
  Sighting,
} from '../../../../server/src/evidence/observed/read-observed.ts'
import { createLongBound } from '../../../../server/src/evidence/suggest/run-suggestions.ts'

describe('the bound of long texts', () => {
  it('leaves out and counts the long ones beyond it, and never a short one', () => {
    const { hasRoom: hasPlace, leftOut } = createLongBound(2_500)
    const paths = [1_000, 1_000, 1_000, 200, 1_000].map((length) => '/'.padEnd(length, 'x'))

    const kept = paths.map((path) => hasPlace(requestOf(path, 3)))

    expect(kept).toEqual([true, true, false, true, false])
    expect(leftOut()).toBe(6)
  })
})

function requestOf(path: string, count: number): ObservedRequest {
  const sighting: Sighting = {
    device_id: 'd',
    username: null,
    decisions: 1,
    first_ms: 0,
    last_ms: 0,
  }
  return {
    tuple: {
      point: 'proxy',
      protocol: 'other',
      action: 'read',
      host: null,
      port: null,
      address: null,
      path,
      path_cut: false,
      decision: 'deny',
      reason: 'default_deny',
      rules: [],
      revision: null,
      stale: false,
      break_glass: false,
      program: null,
      os_user: null,
    },
    sightings: Array.from({ length: count }, () => sighting),
  }
}
