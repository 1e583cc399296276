import { describe, expect, it } from 'vitest'
import {
  createPasswordQueue,
  type PasswordQueue,
} from '../../../../server/src/accounts/sign-in/password-queue.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Holds both running places until it is opened; everything after waits. */
function occupy(queue: PasswordQueue) {
  const gate = Promise.withResolvers<void>()
  const held = [0, 1].map(() => queue.run({ lane: 'held', isKnown: true }, () => gate.promise))
  return async () => {
    gate.resolve()
    await Promise.all(held)
  }
}

/** Notes each piece of work when it runs, and refusals. */
function openTrace(queue: PasswordQueue) {
  const order: string[] = []
  const refused: string[] = []
  const work: Promise<unknown>[] = []
  function add(lane: string, isKnown = false, label = lane): void {
    const run = async () => {
      order.push(label)
      await turn()
    }
    work.push(queue.run({ lane, isKnown }, run).catch(() => refused.push(label)))
  }
  return { order, refused, add, done: () => Promise.all(work) }
}

describe('the password queue', () => {
  it('runs two at once, those of one lane in the order of arrival', async () => {
    const queue = createPasswordQueue()
    const order: number[] = []
    let running = 0
    let most = 0
    const work = (index: number) => async () => {
      order.push(index)
      running += 1
      most = Math.max(most, running)
      await turn()
      running -= 1
    }

    await Promise.all(
      [0, 1, 2, 3, 4].map((index) => queue.run({ lane: 'a', isKnown: false }, work(index))),
    )

    expect(order).toEqual([0, 1, 2, 3, 4])
    expect(most).toBe(2)
  })

  it('takes turns by lane, new lanes last', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order } = openTrace(queue)
    for (const label of ['a1', 'a2', 'a3']) add('a', false, label)
    add('b', false, 'b1')
    add('c', false, 'c1')
    add('b', false, 'b2')

    await release()
    await done()

    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  })

  it('serves known lanes first, and a stranger every fourth turn', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order } = openTrace(queue)
    for (let index = 0; index < 3; index += 1) add(`stranger ${index}`, false, 'stranger')
    for (let index = 0; index < 9; index += 1) add(`known ${index}`, true, 'known')

    await release()
    await done()

    expect(order.slice(0, 9).filter((label) => label === 'stranger').length).toBe(2)
    expect(order.indexOf('stranger')).toBe(3)
    expect(order.length).toBe(12)
  })

  it('gives the places of strangers to known lanes when it is full', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order, refused } = openTrace(queue)
    for (let index = 0; index < 70; index += 1) add(`stranger ${index}`)
    for (let index = 0; index < 5; index += 1) add('home', true, `home ${index}`)
    expect(queue.waiting()).toBe(64)

    await release()
    await done()

    expect(order.filter((label) => label.startsWith('home')).length).toBe(5)
    expect(refused.every((label) => label.startsWith('stranger'))).toBe(true)
    expect(order.length).toBe(64)
    expect(queue.waiting()).toBe(0)
  })

  it('gives places of the longest lane to a shorter one when it is full', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order, refused } = openTrace(queue)
    for (let index = 0; index < 70; index += 1) add('many', false, `many ${index}`)
    add('one')

    await release()
    await done()

    expect(order.slice(0, 2)).toEqual(['many 0', 'one'])
    expect(refused).toEqual([
      'many 64',
      'many 65',
      'many 66',
      'many 67',
      'many 68',
      'many 69',
      'many 63',
    ])
  })

  it('turns away with 429 who finds no place, and goes on afterwards', async () => {
    const queue = createPasswordQueue()
    const gate = Promise.withResolvers<void>()
    const place = { lane: 'a', isKnown: true }
    const accepted = Array.from({ length: 66 }, () => queue.run(place, () => gate.promise))

    await expect(queue.run(place, async () => undefined)).rejects.toMatchObject({
      status: 429,
      code: 'limit_exceeded',
    })

    gate.resolve()
    await Promise.all(accepted)
    expect(await queue.run(place, async () => 'done')).toBe('done')
  })

  it('gives its place free when the work fails', async () => {
    const queue = createPasswordQueue()
    const place = { lane: 'a', isKnown: false }

    for (let round = 0; round < 5; round += 1)
      await expect(queue.run(place, () => Promise.reject(new Error('no')))).rejects.toThrow('no')

    expect(await queue.run(place, async () => 'done')).toBe('done')
  })
})
