import { describe, expect, it } from 'vitest'
import { createSharedAnswers } from '../../../server/src/governance/shared-answers.ts'

describe('shared answers', () => {
  it('are made once for all who ask meanwhile, and are the same bytes for those who ask after', async () => {
    const shared = createSharedAnswers()
    let made = 0
    const make = async () => Buffer.from(`answer ${(made += 1)}`)

    const [first, second] = await Promise.all([shared.take('a', make), shared.take('a', make)])
    const third = await shared.take('a', make)
    const other = await shared.take('b', make)

    expect(second).toBe(first)
    expect(third).toBe(first)
    expect(first?.toString()).toBe('answer 1')
    expect(other?.toString()).toBe('answer 2')
  })

  it('keep neither a failure nor nothing', async () => {
    const shared = createSharedAnswers()
    const body = Buffer.from('good')
    const failing = async () => Promise.reject(new Error('no'))

    const both = [shared.take('a', failing), shared.take('a', async () => body)]
    for (const one of both) await expect(one).rejects.toThrow('no')
    expect(await shared.take('a', async () => null)).toBeNull()
    expect(await shared.take('a', async () => body)).toBe(body)
  })
})
