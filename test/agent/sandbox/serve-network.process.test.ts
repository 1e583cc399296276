import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createNearMisses } from '../../../agent/src/proxy/denial/near-misses.ts'
import { createDial } from '../../../agent/src/proxy/target/dial.ts'
import { startHolder } from '../../../agent/src/sandbox/holder/start-holder.ts'
import {
  serveListeners,
  type ServedNetworkDeps,
  type ServeSandboxApi,
} from '../../../agent/src/sandbox/serve-network.ts'
import { BUILT_HOLDER } from '../../built-programs.ts'
import { activePolicy } from '../fixture/active-policy.ts'

/** A network that reaches nothing, and counts those that follow its policy. */
function network(): {
  readonly deps: ServedNetworkDeps['network']
  readonly followers: () => number
} {
  const { active } = activePolicy()
  let followers = 0
  const subscribe: typeof active.subscribe = (listener) => {
    followers += 1
    const unsubscribe = active.subscribe(listener)
    return () => {
      followers -= 1
      unsubscribe()
    }
  }
  const deps: ServedNetworkDeps['network'] = {
    active: { ...active, subscribe },
    decide: active.decide,
    resolve: async () => [],
    dial: createDial(60_000),
    isOwnAddress: () => false,
    resolveServices: async () => [],
    findDestination: () => null,
    maxSlots: 1,
    maxConnections: 1,
    idleMs: 60_000,
    flushTimeoutMs: 60_000,
    bodyRate: { bytes: 1, windowMs: 60_000 },
    nearMisses: createNearMisses(active.explain, () => 0),
    uptime: () => 0,
    log: { info: () => {} },
    onEvent: () => {},
    onError: () => {},
  }
  return { deps, followers: () => followers }
}

describe.runIf(process.platform === 'linux')('the listeners of a sandbox', () => {
  it('are all closed when one of them cannot be served', async () => {
    const holder = await startHolder(BUILT_HOLDER)
    onTestFinished(async () => {
      holder.end()
      await holder.ended
    })
    const api = createServer()
    const serveApi: ServeSandboxApi = async (_, listener) => {
      api.listen(listener)
      await once(api, 'listening')
      return { close: () => void api.close() }
    }
    const { deps, followers } = network()
    holder.listeners.proxy.close()

    const served = serveListeners({ id: 'box', holder }, { network: deps, serveApi })
    await expect(served).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' })
    expect([api.listening, followers()]).toEqual([false, 0])
  })

  it('follow the policy until they are closed', async () => {
    const holder = await startHolder(BUILT_HOLDER)
    onTestFinished(async () => {
      holder.end()
      await holder.ended
    })
    const { deps, followers } = network()
    const serveApi: ServeSandboxApi = async () => ({ close: () => {} })

    const served = await serveListeners({ id: 'box', holder }, { network: deps, serveApi })
    expect(followers()).toBe(1)
    served.close()
    expect(followers()).toBe(0)
  })
})
