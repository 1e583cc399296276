import { describe, expect, it, onTestFinished } from 'vitest'
import { createDial } from '../../../agent/src/proxy/target/dial.ts'
import { createProxyAddress } from '../../../agent/src/proxy/proxy-address.ts'
import { createProxy } from '../../../agent/src/proxy/proxy.ts'
import { createLiveConnections } from '../../../agent/src/proxy/admission/live-connections.ts'
import { describePoints } from '../../../agent/src/enforcement/enforcement-point.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { exchangeRaw, get } from '../fixture/proxy.ts'

/** The proxy on a free port, not started. */
function createPoint() {
  const { active } = activePolicy()
  const point = createProxy({
    address: createProxyAddress(),
    port: 0,
    decide: active.decide,
    resolve: async () => [],
    dial: createDial(1_000),
    live: createLiveConnections(active.decide, 10),
    idleMs: 5_000,
    flushTimeoutMs: 5_000,
    maxConnections: 10,
    bodyRate: { bytes: 1, windowMs: 60_000 },
    nearMisses: () => [],
    onEvent: () => {},
    onError: () => {},
  })
  onTestFinished(() => point.stop())
  return point
}

describe('an enforcement point', () => {
  it('may be stopped before its start, and more than once', async () => {
    const point = createPoint()

    await point.stop()
    await point.start()
    await point.stop()
    await point.stop()
  })

  it('reports its address once started, and denies without a policy', async () => {
    const point = createPoint()
    expect(describePoints([point])).toEqual({ proxy: 'http://127.0.0.1:0' })

    await point.start()

    const { proxy } = describePoints([point])
    const { port } = new URL(proxy)
    expect(Number(port)).toBeGreaterThan(0)
    expect(await exchangeRaw(Number(port), get('example.com:80', '/'))).toMatchObject({
      status: 403,
    })
  })

  it('missing from the list has an empty address', () => {
    expect(describePoints([])).toEqual({ proxy: '' })
  })
})
