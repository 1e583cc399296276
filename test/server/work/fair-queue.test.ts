import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFairQueue } from '../../../server/src/work/fair-queue.ts'

describe('a fair queue', () => {
  it('takes turns at each level, new lanes last', () => {
    const queue = createFairQueue<string>()
    for (const [path, item] of [
      [['a', 'x'], 'ax1'],
      [['a', 'x'], 'ax2'],
      [['a', 'y'], 'ay1'],
      [['b', 'z'], 'bz1'],
      [['c', 'z'], 'cz1'],
    ] as const)
      queue.push(path, item)

    const order = Array.from({ length: 6 }, () => queue.shift())

    expect(order).toEqual(['ax1', 'bz1', 'cz1', 'ay1', 'ax2', undefined])
  })

  it('skips lanes that may not be taken', () => {
    const queue = createFairQueue<string>()
    queue.push(['a', 'x'], 'a')
    queue.push(['b', 'x'], 'b')

    expect(queue.shift((key) => key !== 'a')).toBe('b')
    expect(queue.shift((key) => key !== 'a')).toBeUndefined()
    expect(queue.size()).toBe(1)
  })

  it('makes a lane the last one, without an effect on one that is not there', () => {
    const queue = createFairQueue<string>()
    for (const key of ['a', 'b', 'c']) queue.push([key], key)

    queue.defer('a')
    queue.defer('x')

    expect([queue.shift(), queue.shift(), queue.shift(), queue.shift()]).toEqual([
      'b',
      'c',
      'a',
      undefined,
    ])
  })

  it('makes room in the longest lane only for a shorter one', () => {
    const queue = createFairQueue<string>()
    for (const item of ['1', '2', '3']) queue.push(['a', 'x'], `ax${item}`)
    queue.push(['b', 'x'], 'bx1')

    expect(queue.makeRoom(['a', 'x'])).toBeUndefined()
    expect(queue.makeRoom(['a', 'y'])).toBe('ax3')
    expect(queue.makeRoom(['a', 'y'])).toBe('ax2')
    expect(queue.makeRoom(['c', 'x'])).toBeUndefined()
    expect(queue.size(['a', 'x'])).toBe(1)
  })

  it('makes room only among lanes with the same first keys', () => {
    const queue = createFairQueue<string>()
    for (const item of ['1', '2', '3']) queue.push(['a', 'x'], item)
    queue.push(['b', 'x'], 'b1')

    expect(queue.makeRoom(['b', 'y'], 1)).toBeUndefined()
    expect(queue.makeRoom(['b', 'y'], 0)).toBe('3')
  })

  it('loses no item and counts each once (law: conservation)', () => {
    const path = fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y', 'z'))
    const step = fc.oneof(
      fc.record({ kind: fc.constant('push' as const), path }),
      fc.record({ kind: fc.constant('shift' as const), path }),
      fc.record({ kind: fc.constant('room' as const), path }),
      fc.record({ kind: fc.constant('drop' as const), path }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = createFairQueue<string>()
        const held: string[] = []
        steps.forEach(({ kind, path: at }, index) => {
          if (kind === 'push') {
            queue.push(at, `${at.join()} ${index}`)
            held.push(`${at.join()} ${index}`)
            return
          }
          const item =
            kind === 'shift'
              ? queue.shift()
              : kind === 'drop'
                ? queue.dropLongest()
                : queue.makeRoom(at)
          expect(item !== undefined || kind === 'room' || held.length === 0).toBe(true)
          if (item !== undefined) held.splice(held.indexOf(item), 1)
          expect(queue.size()).toBe(held.length)
          for (const key of ['a,x', 'b,z'])
            expect(queue.size(key.split(','))).toBe(
              held.filter((each) => each.startsWith(key)).length,
            )
        })
        const left = new Set(held.map(() => queue.shift()))
        expect(left).toEqual(new Set(held))
        expect(queue.shift()).toBeUndefined()
      }),
      { numRuns: 200 },
    )
  })
})
