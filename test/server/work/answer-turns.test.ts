import { describe, expect, it } from 'vitest'
import { createAnswerTurns } from '../../../server/src/work/answer-turns.ts'
import { ApiError } from '../../../server/src/platform/api-error.ts'
import { nextTurn } from '../../../server/src/platform/next-turn.ts'

/** Work that runs until it is told to end, and is listed while it runs. */
function openTurns(turns = createAnswerTurns()) {
  const running: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const begin = (org: string, name = org): Promise<string> =>
    turns.run(org, async () => {
      running.push(name)
      const end = Promise.withResolvers<void>()
      ends.set(name, (error) => (error === undefined ? end.resolve() : end.reject(error)))
      try {
        await end.promise
        return name
      } finally {
        running.splice(running.indexOf(name), 1)
      }
    })
  async function end(name: string, error?: Error): Promise<void> {
    ends.get(name)?.(error)
    await nextTurn()
  }
  return { begin, end, running }
}

describe('large answers', () => {
  it('run two at a time, and one for each organization', async () => {
    const { begin, end, running } = openTurns()
    const all = [begin('a', 'a1'), begin('a', 'a2'), begin('b'), begin('c'), begin('a', 'a3')]

    await nextTurn()
    expect(running).toEqual(['a1', 'b'])
    await end('a1')
    expect(running).toEqual(['b', 'c'])
    await end('b')
    expect(running).toEqual(['c', 'a2'])
    await end('c')
    expect(running).toEqual(['a2'])
    await end('a2')
    await end('a3')
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b', 'c', 'a3'])
  })

  it('run as many at a time for each organization as it may have, and no more of all', async () => {
    const { begin, end, running } = openTurns(createAnswerTurns(4, 3, 64, 2))
    const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => begin(name.charAt(0), name))

    await nextTurn()
    expect(running).toEqual(['a1', 'a2', 'b1'])
    await end('b1')
    expect(running).toEqual(['a1', 'a2', 'b2'])
    await end('a2')
    expect(running).toEqual(['a1', 'b2', 'a3'])
    for (const name of ['a1', 'b2', 'a3']) await end(name)
    expect(await Promise.all(all)).toHaveLength(5)
  })

  it('let all others go first after one of an organization has run', async () => {
    const { begin, end, running } = openTurns(createAnswerTurns(4, 1))
    const all = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => begin(name.charAt(0), name))
    const order: string[] = []

    await nextTurn()
    for (let [name] = running; name !== undefined; [name] = running) {
      order.push(name)
      await end(name)
    }

    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'a3'])
    await Promise.all(all)
  })

  it('free their slot when they fail', async () => {
    const { begin, end, running } = openTurns()
    const failing = begin('a', 'a1').catch(String)
    const next = begin('a', 'a2')
    await nextTurn()

    await end('a1', new Error('no'))

    expect(running).toEqual(['a2'])
    await end('a2')
    expect(await Promise.all([failing, next])).toEqual(['Error: no', 'a2'])
    expect(running).toEqual([])
  })

  it('are refused when four of the organization wait, but not for others', async () => {
    const { begin, end, running } = openTurns()
    const own = [1, 2, 3, 4, 5].map((number) => begin('a', `a${number}`))

    const refusal = await begin('a').catch((error: unknown) => error)
    const other = begin('b')
    await nextTurn()

    expect(refusal).toBeInstanceOf(ApiError)
    expect(refusal).toMatchObject({
      status: 429,
      code: 'limit_exceeded',
      headers: { 'retry-after': '1' },
    })
    expect(running).toEqual(['a1', 'b'])
    for (const number of [1, 2, 3, 4, 5]) await end(`a${number}`)
    await end('b')
    await Promise.all([...own, other])
  })

  it('are refused when 64 wait in total', async () => {
    const { begin, end, running } = openTurns()
    const all = Array.from({ length: 66 }, (_, index) => begin(`org ${index}`))

    await expect(begin('one more')).rejects.toMatchObject({ status: 429 })

    await nextTurn()
    while (running[0] !== undefined) await end(running[0])
    expect(await Promise.all(all)).toHaveLength(66)
  })
})
