import { readBoundedBody } from '@palisade/client'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'

/** Yields `count` chunks of one byte with ascending values. */
async function* bytes(count: number, last = (): void => {}): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield Uint8Array.of(index)
  last()
}

describe('readBoundedBody', () => {
  it.each([0, 1, 1023, 1024, 1025, 5000])('joins %d chunks in order', async (count) => {
    const body = await readBoundedBody(bytes(count), count)

    expect(body).toEqual(Buffer.from(Array.from({ length: count }, (_, index) => index)))
  })

  it('returns null for a body that is one byte too long', async () => {
    expect(await readBoundedBody(bytes(5001), 5000)).toBeNull()
  })

  it('needs memory in proportion to the bytes received, also for small chunks', async () => {
    let held = Infinity
    const before = heapBytes()
    const body = bytes(50_000, () => {
      held = heapBytes() - before
    })

    await readBoundedBody(body, 50_000)

    expect(held).toBeLessThan(2_000_000)
  })
})

/** Heap size after a garbage collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
