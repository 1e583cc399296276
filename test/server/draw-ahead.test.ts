import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { drawAhead } from '../../server/src/draw-ahead.ts'

it('never gives a byte twice, and draws once for many', () => {
  const drawn: Buffer[] = []
  const draw = drawAhead((bytes) => {
    const more = randomBytes(bytes)
    drawn.push(more)
    return more
  })

  const given = Array.from({ length: 1000 }, () => Buffer.from(draw(12)))
  const asHex = given.map((bytes) => bytes.toString('hex'))

  expect(new Set(asHex).size).toBe(1000)
  expect(drawn).toHaveLength(3)
  const perDraw = Math.floor(4096 / 12)
  expect(asHex.slice(0, perDraw).join('')).toBe(drawn[0]?.toString('hex', 0, perDraw * 12))
})

it('asks for what is larger by itself', () => {
  const draw = drawAhead((bytes) => new Uint8Array(bytes).fill(7))

  expect(draw(5000)).toHaveLength(5000)
  expect(draw(16)).toEqual(new Uint8Array(16).fill(7))
})
