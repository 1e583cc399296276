import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../../bench/src/workload/random.ts'
import { bundleOf } from '../../agent/fixture/bundle.ts'
import { connectTo, startOrigin, startProxy } from '../../agent/fixture/proxy.ts'
import { casesOfRun, seedOfRun } from '../../lanes/run-size.ts'
import { drawBytes } from './draw-bytes.ts'

const AT_ONCE = 16
const ALLOWED = 'x.allowed.test'
const ADDRESS = '198.51.100.1'
const PATIENCE_MS = 10_000

/** Sends bytes, ends, and waits until the proxy closes. */
function send(port: number, bytes: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.once('close', () => resolve())
  socket.setTimeout(PATIENCE_MS, () => socket.destroy())
  socket.once('end', () => socket.destroy()).resume()
  socket.end(bytes)
  return promise
}

describe('any bytes of a program', () => {
  it('lead to no other name, address or site than the allowed one', async () => {
    const seed = seedOfRun()
    const origin = await startOrigin()
    const rules = bundleOf(['allow', 'connect:tcp', `${ALLOWED}:443`, `${ALLOWED}:80`])
    const names = { [ALLOWED]: [ADDRESS], 'evil.test': [ADDRESS] }
    const scene = await startProxy(rules, names, 1_000, { reroutedTo: origin.port })
    const cases = casesOfRun(20_000)
    let next = 0
    const work = async (): Promise<void> => {
      while (next < cases) {
        const random = createRandom(seed + next)
        next += 1
        const { bytes } = drawBytes(random)
        // Most bytes are no valid request of their own, but may be the first flight in a tunnel.
        const start = random.next() < 0.5 ? connectTo(`${ALLOWED}:443`) : ''
        await send(scene.port, Buffer.concat([Buffer.from(start), bytes]))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))

    const hosts = new Set(origin.requests.map(({ headers }) => headers.host?.toLowerCase()))
    // HTTP/1.0 may name no host.
    const allowed = [ALLOWED, `${ALLOWED}:443`, undefined]
    expect([seed, [...hosts].filter((host) => !allowed.includes(host))]).toEqual([seed, []])
    expect([seed, [...new Set(scene.resolved)]]).toEqual([seed, [ALLOWED]])
    const addresses = new Set(scene.dialled.map((text) => text.split(':')[0]))
    expect([seed, [...addresses], scene.errors]).toEqual([seed, [ADDRESS], []])
    // Both outcomes occur, or the test is empty.
    expect(origin.requests.length).toBeGreaterThan(cases / 1_000)
    expect(new Set(scene.ends.map(({ decision }) => decision.decision)).size).toBe(2)
    await expect.poll(() => scene.live.size()).toBe(0)
  })
})
