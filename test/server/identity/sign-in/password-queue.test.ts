import { describe, expect, it } from 'vitest'
import {
  createPasswordQueue,
  type PasswordQueue,
  type Requester,
  type Standing,
} from '../../../../server/src/identity/sign-in/password-queue.ts'

const KNOWN: Requester = { path: ['held'], standing: 'known' }
const STRANGER: Requester = { path: ['a'], standing: 'stranger' }

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Occupies both running slots until it is opened, so that later work waits. */
function occupy(queue: PasswordQueue) {
  const gate = Promise.withResolvers<void>()
  const held = [0, 1].map(() => queue.run(KNOWN, () => gate.promise))
  return async () => {
    gate.resolve()
    await Promise.all(held)
  }
}

/** Records each piece of work when it runs, and refusals. */
function openTrace(queue: PasswordQueue) {
  const order: string[] = []
  const refused: string[] = []
  const work: Promise<unknown>[] = []
  /** `lane` is a path, its keys joined by `/`. */
  function add(lane: string, standing: Standing = 'stranger', label = lane): void {
    const run = async () => {
      order.push(label)
      await turn()
    }
    work.push(queue.run({ path: lane.split('/'), standing }, run).catch(() => refused.push(label)))
  }
  return { order, refused, add, done: () => Promise.all(work) }
}

describe('the password queue', () => {
  it('runs two at once, within a lane in order of arrival', async () => {
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

    await Promise.all([0, 1, 2, 3, 4].map((index) => queue.run(STRANGER, work(index))))

    expect(order).toEqual([0, 1, 2, 3, 4])
    expect(most).toBe(2)
  })

  it('takes turns between lanes, new lanes last', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order } = openTrace(queue)
    for (const label of ['a1', 'a2', 'a3']) add('a', 'stranger', label)
    add('b', 'stranger', 'b1')
    add('c', 'stranger', 'c1')
    add('b', 'stranger', 'b2')

    await release()
    await done()

    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  })

  it('serves known lanes first, and a stranger every fourth turn', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order } = openTrace(queue)
    for (let index = 0; index < 3; index += 1) add(`stranger ${index}`, 'stranger', 'stranger')
    for (let index = 0; index < 9; index += 1) add(`known ${index}`, 'known', 'known')

    await release()
    await done()

    expect(order.slice(0, 9).filter((label) => label === 'stranger').length).toBe(2)
    expect(order.indexOf('stranger')).toBe(3)
    expect(order.length).toBe(12)
  })

  it('replaces strangers by known lanes when it is full', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order, refused } = openTrace(queue)
    for (let index = 0; index < 70; index += 1) add(`stranger ${index}`)
    for (let index = 0; index < 5; index += 1) add('home', 'known', `home ${index}`)
    expect(queue.waiting()).toBe(64)

    await release()
    await done()

    expect(order.filter((label) => label.startsWith('home')).length).toBe(5)
    expect(refused.every((label) => label.startsWith('stranger'))).toBe(true)
    expect(order.length).toBe(64)
    expect(queue.waiting()).toBe(0)
  })

  it('replaces entries of the longest lane by those of shorter lanes when it is full', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order, refused } = openTrace(queue)
    for (let index = 0; index < 70; index += 1) add('many', 'stranger', `many ${index}`)
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

  it('refuses requests without a slot with 429, and continues', async () => {
    const queue = createPasswordQueue()
    const gate = Promise.withResolvers<void>()
    const place = KNOWN
    const accepted = Array.from({ length: 66 }, () => queue.run(place, () => gate.promise))

    await expect(queue.run(place, async () => undefined)).rejects.toMatchObject({
      status: 429,
      code: 'limit_exceeded',
    })

    gate.resolve()
    await Promise.all(accepted)
    expect(await queue.run(place, async () => 'done')).toBe('done')
  })

  it('gives all addresses of one network the same turns as another network', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order } = openTrace(queue)
    for (let index = 0; index < 60; index += 1)
      add(`198.18/198.18.${index % 30}/198.18.${index % 30}.${index}`, 'stranger', 'guesser')
    add('192.0/192.0.2/192.0.2.7', 'stranger', 'newcomer')

    await release()
    await done()

    expect(order.indexOf('newcomer')).toBe(1)
  })

  it('keeps a slot for a newcomer when addresses of one network fill the queue', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order, refused } = openTrace(queue)
    for (let index = 0; index < 70; index += 1)
      add(`198.18/198.18.${index}/198.18.${index}.1`, 'stranger', 'guesser')
    add('192.0/192.0.2/192.0.2.7', 'stranger', 'newcomer')

    await release()
    await done()

    expect(order).toContain('newcomer')
    expect(new Set(refused)).toEqual(new Set(['guesser']))
  })

  it('serves strangers before doubtful networks, which get every sixteenth turn', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order } = openTrace(queue)
    for (let index = 0; index < 4; index += 1) add(`guesser ${index}`, 'doubtful', 'doubtful')
    for (let index = 0; index < 40; index += 1) add(`stranger ${index}`, 'stranger', 'stranger')

    await release()
    await done()

    expect(order.indexOf('doubtful')).toBe(15)
    expect(order.slice(0, 36).filter((label) => label === 'doubtful').length).toBe(2)
    expect(order.length).toBe(44)
  })

  it('replaces only doubtful networks by strangers when it is full', async () => {
    const queue = createPasswordQueue()
    const release = occupy(queue)
    const { add, done, order, refused } = openTrace(queue)
    for (let index = 0; index < 64; index += 1) add(`guesser ${index}`, 'doubtful', 'doubtful')
    for (let index = 0; index < 5; index += 1) add(`new ${index}`, 'stranger', 'stranger')
    for (let index = 0; index < 3; index += 1) add(`late ${index}`, 'doubtful', 'late')

    await release()
    await done()

    expect(order.filter((label) => label === 'stranger').length).toBe(5)
    expect(refused.filter((label) => label === 'doubtful').length).toBe(5)
    expect(refused.filter((label) => label === 'late').length).toBe(3)
  })

  it('frees the slot of work that fails', async () => {
    const queue = createPasswordQueue()
    const place = STRANGER

    for (let round = 0; round < 5; round += 1)
      await expect(queue.run(place, () => Promise.reject(new Error('no')))).rejects.toThrow('no')

    expect(await queue.run(place, async () => 'done')).toBe('done')
  })
})
