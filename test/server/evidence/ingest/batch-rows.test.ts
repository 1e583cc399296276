import { describe, expect, it } from 'vitest'
import { sumBatch } from '../../../../server/src/evidence/ingest/batch-rows.ts'
import { HASH, linesOf, recordOf } from './batch-text.ts'

const NOW = Date.parse('2026-11-21T09:00:00Z')
const AT = Date.parse('2026-11-21T08:00:00Z')
const flow = { bytes_sent: 10, bytes_received: 200 }
const context = { boot: 'b1', receivedMs: NOW }

describe('sumBatch', () => {
  it('sums up equal decisions of one minute, and their ended connections apart', () => {
    const until = '2026-11-21T08:00:59.000Z'
    const { rows } = sumBatch(
      linesOf([recordOf(), recordOf({ until, count: 4 }), recordOf({ flow, count: 2 })]),
      context,
    )
    expect(rows).toEqual([
      {
        session: 'b1',
        first_ms: AT,
        last_ms: AT + 59_000,
        decisions: 5,
        flows: 2,
        bytes_sent: 10,
        bytes_received: 200,
        tuple: {
          point: 'proxy',
          protocol: 'connect',
          action: 'connect:tcp',
          host: 'example.com',
          port: 443,
          address: null,
          path: null,
          path_cut: false,
          decision: 'deny',
          reason: 'default_deny',
          rules: [],
          revision: 3,
          stale: false,
          break_glass: false,
          program: null,
          os_user: null,
        },
      },
    ])
  })

  it.each([
    ['another minute', { time: '2026-11-21T08:01:00.000Z' }],
    ['another sandbox', { sandbox: 's1' }],
    ['another program', { program: '/usr/bin/node' }],
    ['another revision', { revision: 4 }],
    ['an address', { request: { ...recordOf().request, address: '192.0.2.1' } }],
  ])('keeps %s apart', (_title, members) => {
    const { rows } = sumBatch(linesOf([recordOf(), recordOf(members as object)]), context)
    expect(rows).toHaveLength(2)
  })

  it('tells no two tuples alike, whatever characters they hold', () => {
    const programs = ['a","b', 'a', 'b', '["a"', 'null', '']
    const records = programs.map((program) => recordOf({ program }))
    expect(sumBatch(linesOf([...records, recordOf()]), context).rows).toHaveLength(7)
  })

  it('counts decisions that have no row', () => {
    const { losses, lost, left_out } = sumBatch(
      [
        { seq: 1, hash: HASH, time: '2026-11-21T08:00:00.000Z', lost: 4, reason: 'queue_full' },
        { seq: 9, hash: HASH, left_out: 12 },
        { seq: 12, hash: HASH, left_out: 1 },
      ],
      context,
    )
    expect({ losses, lost, left_out }).toEqual({
      losses: [{ at_ms: AT, lost: 4, reason: 'queue_full' }],
      lost: 4,
      left_out: 13,
    })
  })

  it('bounds the sums of counts that a machine may claim', () => {
    const most = Number.MAX_SAFE_INTEGER
    const flows = { bytes_sent: most, bytes_received: most }
    const claimed = [recordOf({ count: most }), recordOf({ count: most, flow: flows })]
    const late = recordOf({ count: most, time: '1970-01-01T00:00:00.000Z' })
    const { rows, losses, lost, left_out } = sumBatch(
      [
        ...linesOf([...claimed, ...claimed, late]),
        { seq: 6, hash: HASH, left_out: most },
        { seq: 7, hash: HASH, left_out: most },
      ],
      context,
    )
    expect(rows).toMatchObject([
      { decisions: 1e9, flows: 1e9, bytes_sent: 1e15, bytes_received: 1e15 },
    ])
    expect(losses).toMatchObject([{ lost: 1e9 }])
    expect([lost, left_out]).toEqual([1e9, 2e9])
  })

  it.each(['1970-01-01T00:00:00.000Z', '2200-01-01T00:00:00.000Z'])(
    'counts decisions at %s as lost',
    (time) => {
      const { losses, rows } = sumBatch(
        linesOf([recordOf({ time, count: 3 }), recordOf({ until: time })]),
        context,
      )
      expect(rows).toEqual([])
      expect(losses.map(({ lost, reason }) => [lost, reason])).toEqual([
        [3, 'wrong_time'],
        [1, 'wrong_time'],
      ])
    },
  )
})
