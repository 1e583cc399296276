import { describe, expect, it } from 'vitest'
import { assignSlots } from '../../../server/src/webhooks/delivery-slots.ts'

const PLACES = { total: 6, perOrganization: 3 }
const due = (...orgs: string[]) => orgs.map((org, index) => ({ id: `w${index}`, org }))
const idsOf = (...args: Parameters<typeof assignSlots>) => assignSlots(...args).map(({ id }) => id)

describe('delivery slots', () => {
  it('go to organizations in turn, regardless of their number of webhooks', () => {
    expect(idsOf(due('a', 'a', 'a', 'b', 'c', 'b'), [], { total: 5, perOrganization: 3 })).toEqual([
      'w0',
      'w3',
      'w4',
      'w1',
      'w5',
    ])
  })

  it('go first to organizations without one', () => {
    expect(idsOf(due('a', 'b', 'b'), ['a', 'a', 'b', 'b', 'd'], PLACES)).toEqual(['w0'])
    expect(idsOf(due('a', 'b', 'c'), ['a', 'a', 'b', 'b', 'd'], PLACES)).toEqual(['w2'])
  })

  it('are bounded for one organization and in total', () => {
    expect(idsOf(due('a', 'a', 'a', 'a'), [], PLACES)).toEqual(['w0', 'w1', 'w2'])
    expect(idsOf(due('a', 'a'), ['a', 'a', 'a'], PLACES)).toEqual([])
    expect(idsOf(due('z'), ['a', 'a', 'b', 'b', 'c', 'c'], PLACES)).toEqual([])
    expect(idsOf(due('z'), ['a', 'a', 'b', 'b', 'c', 'c', 'd'], PLACES)).toEqual([])
  })

  it('stay free when no webhook waits', () => {
    expect(idsOf([], ['a'], PLACES)).toEqual([])
  })
})
