import { describe, expect, it } from 'vitest'
import {
  createLongBound,
  splitRequests,
} from '../../../../server/src/evidence/suggest/answer-suggestions.ts'
import type {
  ObservedRequest,
  Sighting,
} from '../../../../server/src/evidence/observed/read-observed.ts'

/** Parts with their requests and sightings. */
const sizesOf = (requests: readonly ObservedRequest[]) =>
  [...splitRequests(requests)].map((part) => [
    part.length,
    part.reduce((sum, { sightings }) => sum + sightings.length, 0),
  ])

describe('the parts for the worker', () => {
  it('have at most 2,000 sightings each', () => {
    const requests = [requestOf('/a', 1_500), requestOf('/b', 4_500), requestOf('/c', 10)]

    expect(sizesOf(requests)).toEqual([
      [1, 1_500],
      [1, 2_000],
      [1, 2_000],
      [2, 510],
    ])
  })

  it('are small when a machine records long paths, for the server writes each in one go', () => {
    const requests = Array.from({ length: 1_000 }, (_, index) =>
      requestOf(`/${String(index).padStart(4_095, 'x')}`, 1),
    )

    const sizes = sizesOf(requests)

    expect(Math.max(...sizes.map(([count = 0]) => count))).toBe(64)
    expect(sizes.reduce((sum, [count = 0]) => sum + count, 0)).toBe(1_000)
  })
})

describe('the bound of long texts', () => {
  it('leaves out and counts the long ones beyond it, and never a short one', () => {
    const { hasPlace, leftOut } = createLongBound(2_500)
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
