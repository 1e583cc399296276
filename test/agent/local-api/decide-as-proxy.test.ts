import type { Explanation } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { decideAsProxy, explainAsProxy } from '../../../agent/src/local-api/decide-as-proxy.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleClaims, bundleOf, type RuleLine } from '../fixture/bundle.ts'
import { connectTo, exchangeRaw, startProxy } from '../fixture/proxy.ts'

/** No server listens on port 1 of any address: an allowed dial fails with 502. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'home.test': ['127.0.0.1'],
  'mixed.test': ['127.0.0.1', '127.0.0.2'],
  'bad.test': ['127.0.0.2'],
  'none.test': [],
}

const OPEN: RuleLine = ['allow', 'connect:tcp', '127.0.0.2']
const CATCH_ALL: RuleLine = ['allow', 'connect:tcp', '0.0.0.0/0']
const NAMED: RuleLine = [
  'allow',
  'connect:tcp',
  'home.test',
  'mixed.test',
  'none.test',
  'gone.test',
]

describe('decideAsProxy', () => {
  it.each<[string, readonly RuleLine[]]>([
    ['rules for names', [NAMED]],
    ['rules for names and an address', [NAMED, OPEN]],
    ['a catch-all', [CATCH_ALL]],
    ['a catch-all and an address', [CATCH_ALL, OPEN]],
    ['a denied name under a catch-all', [CATCH_ALL, OPEN, ['deny', 'connect:tcp', 'mixed.test']]],
    ['a denied address', [NAMED, ['deny', 'connect:tcp', '127.0.0.0/8']]],
    ['no rules', []],
  ])('answers like the proxy, and queries the same names, under %s', async (_what, rules) => {
    const bundle = bundleOf(...rules)
    const proxy = await startProxy(bundle, NAMES)
    const { active, use } = activePolicy()
    use(bundle)
    const asked: string[] = []
    const resolve = async (name: string): Promise<readonly string[]> => {
      asked.push(name)
      const found = NAMES[name]
      if (found === undefined) throw new Error('ENOTFOUND')
      return found
    }

    for (const host of [...Object.keys(NAMES), 'gone.test', 'localhost', '127.0.0.2']) {
      const request = { action: 'connect:tcp', host, port: 1, resolve: true }
      const decided = await decideAsProxy(active.decide, resolve, request)
      const { status } = await exchangeRaw(proxy.port, connectTo(`${host}:1`))

      const isKnown = decided.addresses?.length !== 0
      const expected = decided.decision === 'deny' && isKnown ? 403 : 502
      expect(status, host).toBe(expected)
    }
    expect(asked).toEqual(proxy.resolved)
  })

  it('returns the first allowed address, and every other one with its reason', async () => {
    const { active, use } = activePolicy()
    use(bundleOf(CATCH_ALL, ['deny', 'connect:tcp', '10.0.0.0/8']))
    const request = { action: 'connect:tcp', host: 'X.test.', port: 443, resolve: true }
    const resolve = async () => ['10.0.0.1', '127.0.0.1', '203.0.113.7', '203.0.113.7']

    let explained = 0
    const explain = async (value: unknown): Promise<Explanation> => {
      explained += 1
      return active.explain(value)
    }

    const decided = await explainAsProxy({ decide: active.decide, explain, resolve }, request)

    expect(decided).toMatchObject({
      decision: 'allow',
      reason: 'rule',
      request: { host: 'x.test', address: '203.0.113.7' },
      matched: [{ resource: '0.0.0.0/0', deciding: true }],
      addresses: [
        { address: '10.0.0.1', decision: 'deny', reason: 'rule' },
        { address: '127.0.0.1', decision: 'deny', reason: 'protected_address' },
        { address: '203.0.113.7', decision: 'allow', reason: 'rule' },
      ],
    })
    expect(decided).not.toHaveProperty('address_required')
    expect(explained).toBe(1)
  })

  it('lets other work run between the addresses', async () => {
    const { active, use } = activePolicy()
    use(bundleOf(CATCH_ALL))
    const request = { action: 'connect:tcp', host: 'x.test', port: 443, resolve: true }
    const resolve = async () => Array.from({ length: 20 }, (_, index) => `203.0.113.${index}`)
    let [turns, isOver] = [0, false]
    const turn = (): void => {
      turns += 1
      if (!isOver) setImmediate(turn)
    }
    turn()

    const { addresses } = await decideAsProxy(active.decide, resolve, request)
    isOver = true

    expect(addresses).toHaveLength(16)
    expect(turns).toBeGreaterThanOrEqual(15)
  })

  it('decides each address for UDP too, as an association does', async () => {
    const { active, use } = activePolicy()
    use(bundleOf(['allow', 'connect:udp', 'x.test']))
    const request = { action: 'connect:udp', host: 'x.test', port: 443, resolve: true }
    const resolve = async (): Promise<string[]> => ['127.0.0.1', '192.0.2.1']

    expect(await decideAsProxy(active.decide, resolve, request)).toMatchObject({
      decision: 'allow',
      request: { action: 'connect:udp', address: '192.0.2.1' },
      addresses: [
        { address: '127.0.0.1', decision: 'deny', reason: 'protected_address' },
        { address: '192.0.2.1', decision: 'allow', reason: 'rule' },
      ],
    })
  })

  it('explains the name itself when it does not resolve', async () => {
    const { active, use } = activePolicy()
    use(bundleOf(CATCH_ALL))
    const explain = async (value: unknown): Promise<Explanation> => active.explain(value)
    const gone = (): Promise<never> => Promise.reject(new Error('ENOTFOUND'))
    const deps = { decide: active.decide, explain, resolve: gone }

    for (const host of ['a..b', '203.0.113.7', 'gone.test']) {
      const request = { action: 'connect:tcp', host, port: 443, resolve: true }

      const explained = await explainAsProxy(deps, request)

      const addresses = host === 'gone.test' ? { addresses: [] } : {}
      expect(explained).toEqual({ ...active.explain(request), ...addresses })
    }
  })

  it('keeps the decision on the name when the name does not resolve', async () => {
    const { active, use } = activePolicy()
    use(bundleOf(CATCH_ALL))
    const request = { action: 'connect:tcp', host: 'gone.test', port: 443, resolve: true }

    const decided = await decideAsProxy(
      active.decide,
      () => Promise.reject(new Error('ENOTFOUND')),
      request,
    )

    expect(decided).toEqual({ ...active.decide(request), addresses: [] })
    expect(decided).toMatchObject({ reason: 'default_deny', address_required: true })
  })

  it.each([
    ['that does not ask for it', { action: 'connect:tcp', host: 'x.test', port: 443 }],
    [
      'that asks with another value',
      { action: 'connect:tcp', host: 'x.test', port: 443, resolve: 1 },
    ],
    ['for a denied name', { action: 'connect:tcp', host: 'no.test', port: 443, resolve: true }],
    ['for an invalid name', { action: 'connect:tcp', host: 'a..b', port: 443, resolve: true }],
    ['for a path', { action: 'read', path: '/x', resolve: true }],
    ['that is null', null],
  ])('resolves no name for a request %s', async (_what, request) => {
    const { active, use } = activePolicy()
    use(
      bundleClaims({
        ...bundleOf(['deny', 'connect:tcp', 'no.test']),
        settings: { resolve_unlisted_names: true, offline_allow: [] },
      }),
    )
    const resolve = (): never => {
      throw new Error('asked')
    }

    expect(await decideAsProxy(active.decide, resolve, request)).toEqual(active.decide(request))
  })
})
