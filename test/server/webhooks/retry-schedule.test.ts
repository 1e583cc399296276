import { describe, expect, it } from 'vitest'
import { formatDeliveryId, parseDeliveryId } from '../../../server/src/webhooks/delivery-id.ts'
import { nextAttempt } from '../../../server/src/webhooks/retry-schedule.ts'

const NOW = new Date('2026-11-21T08:00:00Z')
const waits = (chance: number) =>
  [1, 2, 3, 4, 5, 6, 7, 8].map((attempts) => {
    const next = nextAttempt(attempts, NOW, chance)
    return next === null ? null : (next.getTime() - NOW.getTime()) / 1000
  })

describe('the retry schedule', () => {
  it('waits longer each time, up to eight attempts', () => {
    expect(waits(0)).toEqual([5, 30, 120, 600, 1800, 7200, 21_600, null])
  })

  it('adds at most a fifth of jitter', () => {
    expect(waits(1)).toEqual([6, 36, 144, 720, 2160, 8640, 25_920, null])
  })
})

const HASH = '9f2c41d0a7b35e68'.repeat(4)

describe('a delivery id', () => {
  it('contains sequence and hash of the event', () => {
    const id = formatDeliveryId({ sequence: 17, hash: HASH })

    expect(id).toBe('evt_17_9f2c41d0a7b35e689f2c41d0a7b35e68')
    expect(parseDeliveryId(id)).toBe(17)
  })

  it.each([
    '',
    '17',
    'evt_17',
    'evt_17_',
    `evt_0_${HASH.slice(32)}`,
    `evt_017_${HASH.slice(32)}`,
    `evt_1e3_${HASH.slice(32)}`,
    `evt_17_${HASH}`,
    `evt_17_${HASH.slice(32).toUpperCase()}`,
  ])('is not `%s`', (text) => {
    expect(parseDeliveryId(text)).toBeNull()
  })
})
