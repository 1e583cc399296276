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
  it('waits longer each time and gives up after eight attempts', () => {
    expect(waits(0)).toEqual([5, 30, 120, 600, 1800, 7200, 21_600, null])
  })

  it('adds at most a fifth by chance', () => {
    expect(waits(1)).toEqual([6, 36, 144, 720, 2160, 8640, 25_920, null])
  })
})

describe('a delivery id', () => {
  it.each(['acme', 'a_b', 'a-1'])('names organization %s and the event', (org) => {
    expect(parseDeliveryId(org, formatDeliveryId(org, 17))).toBe(17)
  })

  it.each(['', '17', 'evt_acme_', 'evt_acme_0', 'evt_acme_017', 'evt_acme_1e3', 'evt_rival_17'])(
    'is not `%s`',
    (text) => {
      expect(parseDeliveryId('acme', text)).toBeNull()
    },
  )
})
