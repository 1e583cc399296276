import { fc } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { bundleOf } from '../../fixture/bundle.ts'
import { startProxy } from '../../fixture/proxy.ts'
import { associate, openEcho, openUdp } from '../../fixture/udp.ts'

const NAMES = { 'x.a.test': ['127.0.0.1', '127.0.0.2'], 'y.a.test': ['127.0.0.2'] }

/** Frames in which every part may be wrong; both targets have the same port. */
const noise = (port: number) => {
  const prefix = fc.oneof(
    { weight: 6, arbitrary: fc.constant([0, 0, 0]) },
    { weight: 1, arbitrary: fc.array(fc.nat(255), { minLength: 3, maxLength: 3 }) },
  )
  const name = fc
    .constantFrom('x.a.test', 'y.a.test', 'evil.test', '127.0.0.1', '127.2', 'x.a.test\0', '')
    .map((text) => [3, text.length, ...Buffer.from(text)])
  const address = fc
    .constantFrom([127, 0, 0, 1], [127, 0, 0, 2], [0, 0, 0, 0], [169, 254, 169, 254])
    .map((bytes) => [1, ...bytes])
  const mapped = fc
    .constantFrom([127, 0, 0, 1], [127, 0, 0, 2])
    .map((bytes) => [4, ...Buffer.alloc(10), 255, 255, ...bytes])
  const other = fc.array(fc.nat(255), { maxLength: 24 })
  const rest = fc
    .tuple(fc.constantFrom(port, port, port, 0, 1), fc.uint8Array({ maxLength: 40 }))
    .map(([to, payload]) => [to >> 8, to & 0xff, ...payload])
  const cut = fc.oneof({ weight: 5, arbitrary: fc.constant(99) }, fc.nat(20))
  return fc
    .tuple(prefix, fc.oneof(name, address, mapped, other), rest, cut)
    .map(([head, target, end, length]) =>
      Buffer.from([...head, ...target, ...end]).subarray(0, length),
    )
}

describe('any datagram of a program', () => {
  it('reaches allowed addresses only', async () => {
    const allowed = await openEcho()
    const denied = await openUdp('127.0.0.2', undefined, allowed.port)
    const { port, errors, resolved, live } = await startProxy(
      bundleOf(['allow', 'connect:udp', '127.0.0.1', '*.a.test']),
      NAMES,
    )
    const { program, send, control } = await associate(port)

    await fc.assert(
      fc.asyncProperty(noise(allowed.port), async (frame) => {
        send(frame)
        await new Promise((resolve) => setImmediate(resolve))
      }),
      { numRuns: 2_000 },
    )

    await expect.poll(() => program.received.length).toBeGreaterThan(100)
    expect(denied.received).toEqual([])
    expect(errors).toEqual([])
    expect(new Set(resolved)).toEqual(new Set(['x.a.test', 'y.a.test']))
    control.socket.destroy()
    await expect.poll(() => live.size()).toBe(0)
  })
})
