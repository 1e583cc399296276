import { describe, expect, it } from 'vitest'
import { compilePolicy, decide } from '../../../packages/policy-core/src/index.ts'

const POLICY = compilePolicy({
  revision: 7,
  policies: [
    {
      id: 'pol_net',
      name: 'network',
      allowlist_v0: {
        rules: [
          {
            id: 'rule_allow',
            name: 'allow',
            actions: ['connect:tcp'],
            decision: 'allow',
            resources: ['**.example.com', '192.0.2.0/24', '2001:db8::/32'],
          },
          {
            id: 'rule_deny',
            name: 'deny',
            actions: ['connect:tcp'],
            decision: 'deny',
            resources: ['secret.example.com', '192.0.2.7'],
          },
        ],
      },
    },
    {
      id: 'pol_files',
      name: 'files',
      allowlist_v0: {
        rules: [
          {
            id: 'rule_read',
            name: 'read',
            actions: ['read'],
            decision: 'allow',
            resources: ['/srv/**'],
          },
        ],
      },
    },
  ],
})

const tcp = (host: unknown, port: unknown = 443, address?: unknown): object => ({
  action: 'connect:tcp',
  host,
  port,
  ...(address === undefined ? {} : { address }),
})

const REQUESTS: readonly (readonly [string, object])[] = [
  ['an allowed name', tcp('api.example.com')],
  ['a denied name', tcp('secret.example.com')],
  ['a name without rules', tcp('example.net')],
  ['a name in capitals', tcp('API.example.com')],
  ['a name with its address', tcp('api.example.com', 443, '198.51.100.1')],
  ['an allowed IPv4 address', tcp('192.0.2.1')],
  ['a denied IPv4 address', tcp('192.0.2.7')],
  ['an IPv6 address', tcp('2001:db8::1')],
  ['an IPv6 address in capitals', tcp('2001:DB8::1')],
  ['a protected address', tcp('127.0.0.1')],
  ['an allowed path', { action: 'read', path: '/srv/a' }],
  ['another path', { action: 'write', path: '/srv/a' }],
  ['a path that is not canonical', { action: 'read', path: '/srv/a/' }],
  ['no host', tcp(1)],
  ['no port', tcp('api.example.com', 0)],
  ['no action', { action: 'run' }],
]

describe('decide', () => {
  it.each(REQUESTS)('decides %s in a stale bundle as in a fresh one', (_, request) => {
    const fresh = decide(POLICY, request)
    const stale = decide(POLICY, request, { stale: true })

    expect(fresh.stale).toBe(false)
    expect(stale.stale).toBe(true)
    expect(Object.entries({ ...stale, stale: false })).toEqual(Object.entries(fresh))
    expect(decide(POLICY, request, { stale: false })).toEqual(fresh)
  })

  it.each(REQUESTS)('reads each member of %s once', (_, request) => {
    const reads: string[] = []
    const watched = new Proxy(request, {
      get(target, member, receiver) {
        reads.push(String(member))
        return Reflect.get(target, member, receiver) as unknown
      },
    })

    expect(decide(POLICY, watched)).toEqual(decide(POLICY, request))
    expect(reads).toEqual([...new Set(reads)])
  })

  it('reads the option `stale` before the request', () => {
    const options = { stale: true }
    const request = {
      get action() {
        options.stale = false
        return 'read'
      },
      path: '/srv/a',
    }

    expect(decide(POLICY, request, options).stale).toBe(true)
  })

  it('is not misled by a path that every object inherits', () => {
    const requests = [tcp('API.example.com'), tcp('EXAMPLE.net'), tcp('::ffff:127.0.0.1')]
    const expected = requests.map((request) => JSON.stringify(decide(POLICY, request)))
    const prototype = Object.prototype as { path?: string }

    prototype.path = '/srv/a'
    const misled = requests.map((request) => JSON.stringify(decide(POLICY, request)))
    delete prototype.path

    expect(misled).toEqual(expected)
  })

  it.each([
    2 ** 16 + 443,
    2 ** 32 + 443,
    443 - 2 ** 16,
    443 - 2 ** 32,
    443.5,
    -443,
    0,
    -0,
    65_536,
    Number.NaN,
    Infinity,
  ])('rejects port %d', (port) => {
    expect(decide(POLICY, tcp('api.example.com', port)).reason).toBe('invalid_request')
  })

  it.each([1, 443, 65_535])('accepts port %d', (port) => {
    expect(decide(POLICY, tcp('api.example.com', port)).reason).toBe('rule')
  })
})
