import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createDigestSet } from '../../../../server/src/identity/device/digest-set.ts'

describe('a set of digests', () => {
  const digest = (text: string) => createHash('sha256').update(text).digest()

  it('has what was added and nothing else, however often it grows', () => {
    const set = createDigestSet()
    const added = Array.from({ length: 5_000 }, (_, n) => digest(`added ${n}`))

    for (const [index, each] of added.entries()) {
      expect(set.has(each)).toBe(false)
      set.add(each)
      expect(set.size()).toBe(index + 1)
    }

    expect(added.every((each) => set.has(each))).toBe(true)
    for (let n = 0; n < 5_000; n += 1) expect(set.has(digest(`other ${n}`))).toBe(false)
  })

  it('tells digests apart that begin with the same word', () => {
    const set = createDigestSet()
    const make = (n: number) => Buffer.from(`ffffffff${n.toString(16).padStart(24, '0')}`, 'hex')
    const some = Array.from({ length: 300 }, (_, n) => make(n))

    for (const each of some) set.add(each)

    expect(some.every((each) => set.has(each))).toBe(true)
    expect(set.has(make(300))).toBe(false)
  })

  it('counts what is added twice once', () => {
    const set = createDigestSet()

    set.add(digest('a'))
    set.add(digest('a'))

    expect(set.size()).toBe(1)
  })
})
