import { expect, it } from 'vitest'
import { takeTurns } from '../../../bench/src/figures/take-turns.ts'

it('reads each contender once a round and discards the first round', async () => {
  const order: string[] = []
  const contender = (name: string) => async () => order.push(name)

  const readings = await takeTurns(2, { a: contender('a'), b: contender('b') })

  expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
  expect(readings).toEqual({ a: [3, 5], b: [4, 6] })
})
