import { describe, expect, it } from 'vitest'
import { createAnswersInFlight } from '../../../server/src/governance/answers-in-flight.ts'

describe('answers in flight', () => {
  it('are made once for concurrent requests, and share their bytes with later ones', async () => {
    const inFlight = createAnswersInFlight()
    let made = 0
    const make = async () => Buffer.from(`answer ${(made += 1)}`)

    const [first, second] = await Promise.all([inFlight.take('a', make), inFlight.take('a', make)])
    const third = await inFlight.take('a', make)
    const other = await inFlight.take('b', make)

    expect(second).toBe(first)
    expect(third).toBe(first)
    expect(first?.toString()).toBe('answer 1')
    expect(other?.toString()).toBe('answer 2')
  })

  it('keep neither a failure nor null', async () => {
    const inFlight = createAnswersInFlight()
    const body = Buffer.from('good')
    const failing = async () => Promise.reject(new Error('no'))

    const both = [inFlight.take('a', failing), inFlight.take('a', async () => body)]
    for (const one of both) await expect(one).rejects.toThrow('no')
    expect(await inFlight.take('a', async () => null)).toBeNull()
    expect(await inFlight.take('a', async () => body)).toBe(body)
  })
})
