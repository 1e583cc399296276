import { readBoundedBody } from '@palisade/client'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'

/** As many chunks of one byte, which count up. */
async function* bytes(count: number, last = (): void => {}): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield Uint8Array.of(index)
  last()
}

describe('reading a body within a bound', () => {
  it.each([0, 1, 1023, 1024, 1025, 5000])('puts %d chunks together as they came', async (count) => {
    const body = await readBoundedBody(bytes(count), count)

    expect(body).toEqual(Buffer.from(Array.from({ length: count }, (_, index) => index)))
  })

  it('gives nothing of a body that is a byte longer', async () => {
    expect(await readBoundedBody(bytes(5001), 5000)).toBeNull()
  })

  it('holds about as much as has come, however small the chunks are', async () => {
    let held = Infinity
    const before = heapBytes()
    const body = bytes(50_000, () => {
      held = heapBytes() - before
    })

    await readBoundedBody(body, 50_000)

    expect(held).toBeLessThan(2_000_000)
  })
})

/** After everything that is not held was let go. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
