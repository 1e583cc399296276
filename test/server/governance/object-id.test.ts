import { expect, it } from 'vitest'
import { createId } from '../../../server/src/governance/object-id.ts'

const zeros = (bytes: number): Uint8Array => new Uint8Array(bytes)
const ones = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(0xff)

it('has 28 characters at the earliest and the latest time', () => {
  expect(createId('pol', new Date(0), zeros)).toBe(`pol_${'0'.repeat(28)}`)
  expect(createId('rule', new Date(0), ones)).toBe(`rule_${'0'.repeat(9)}3${'z'.repeat(18)}`)
})

it('sorts by millisecond for any random bytes', () => {
  const moments = [1, 2, 1000, 1_795_248_000_000, 8_640_000_000_000_000 / 100]
  const ids = moments.map((ms, index) =>
    createId('pol', new Date(ms), index % 2 === 0 ? ones : zeros),
  )
  expect(ids.toSorted()).toEqual(ids)
})

it('uses 92 random bits', () => {
  const bit = (position: number) => (bytes: number) => {
    const value = new Uint8Array(bytes)
    value[bytes - 1 - Math.floor(position / 8)] = 1 << (position % 8)
    return value
  }
  const ids = Array.from({ length: 96 }, (_, position) =>
    createId('pol', new Date(0), bit(position)),
  )
  expect(new Set(ids).size).toBe(93)
})
