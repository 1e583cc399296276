import { FILESYSTEM_ACTIONS } from '@palisade/policy-core'
import * as fc from 'fast-check'

/** Hosts that a checker and a resolver may read differently. */
const HOSTS = [
  '',
  '.',
  '..',
  'a..com',
  '[::1]',
  '::1%lo',
  '127.0.0.1:80',
  'user@a.com',
  'a.com/b',
  'a.com\\b',
  'a.com#b',
  'a.com?b',
  'a%2ecom',
  'a.com\0.evil',
  'a.com\n',
  '\ta.com',
  '\u3000',
  '\ud800.com',
  '0x',
  '0x.0x.0x.0x',
  '1.2.3',
  '08.0.0.1',
  '256.256.256.256',
  '4294967295',
  '4294967296',
  'a.0x7f',
  '\u2460\u2461\u2466\u30020.0.1',
  'xn--',
  'xn--a',
  'xn--\u00fc.com',
  '*.a.com',
  'constructor',
  '__proto__',
  '\u202ea.com',
  `${'a.'.repeat(127)}a`,
  'a'.repeat(70_000),
]

const PATHS = [
  '',
  '/',
  '//',
  '/.',
  '/..',
  '/a/./b',
  '/a//b',
  'a',
  '~',
  '~/a',
  '/a\0',
  '/\ud800',
  '/\n',
  `/${'x'.repeat(4095)}`,
  `/${'x'.repeat(4096)}`,
  `/${'a/'.repeat(2047)}b`,
  `/${'\u00e9'.repeat(2048)}`,
]

const PORTS = [
  0,
  -0,
  -1,
  65536,
  2 ** 32 + 443,
  443 - 2 ** 16,
  1.5,
  NaN,
  Infinity,
  1e308,
  '443',
  null,
  undefined,
  true,
  {},
  443n,
]

/** All hosts above. */
export function hostileHosts(): readonly string[] {
  return HOSTS
}

/** Almost a request. Each member may be valid, so that checks of the others are reached. */
export function hostileRequest(): fc.Arbitrary<unknown> {
  const connect = fc.record(
    {
      action: fc.constantFrom<unknown>(
        'connect:tcp',
        'connect:tcp',
        'connect:udp',
        'CONNECT:TCP',
        7,
      ),
      host: fc.oneof(fc.constantFrom<unknown>(...HOSTS, 'a.com', null, 7, ['a.com']), fc.domain()),
      port: fc.oneof(fc.constant(443), fc.constantFrom<unknown>(...PORTS)),
      address: fc.constantFrom<unknown>('10.0.0.1', '127.1', '::1%lo', 'a.com', null, undefined, 7),
    },
    { requiredKeys: ['action'] },
  )
  const path = fc.record(
    {
      action: fc.constantFrom<unknown>(...FILESYSTEM_ACTIONS, 'Read', '__proto__'),
      path: fc.constantFrom<unknown>(...PATHS, null, 7, ['/a']),
    },
    { requiredKeys: ['action'] },
  )
  return fc.oneof(
    connect,
    path,
    fc.constantFrom<unknown>(null, undefined, 7, 'x', [], {}, Symbol('x')),
  )
}

/** Creates objects that throw, lie or change while they are read. */
export function trap(): fc.Arbitrary<() => unknown> {
  return fc.constantFrom<() => unknown>(
    () => new Proxy({}, { get: () => fail() }),
    () => new Proxy({}, { getPrototypeOf: () => fail(), ownKeys: () => fail(), has: () => fail() }),
    () => revoked(),
    () => ({
      action: 'read',
      get path() {
        return fail()
      },
    }),
    () => ({
      get action() {
        return fail()
      },
    }),
    () => ({ action: { toString: () => fail() }, host: 'a.com', port: 443 }),
    () => ({ action: 'read', path: { toString: () => '/a' } }),
    () => ({ action: 'connect:tcp', host: new String('a.com'), port: 443 }),
    () => changing('connect:tcp', ['a.com', '127.0.0.1', 7]),
    () => changing('connect:udp', ['b.com', '\ud800']),
    () => ({ action: 'connect:tcp', host: 'a.com', port: { valueOf: () => 443 } }),
    () => () => 'a function',
    () => Object.create(null),
    () => new Date(NaN),
  )
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

/** Returns another host at each read. */
function changing(action: string, hosts: readonly unknown[]): object {
  let looks = 0
  return {
    action,
    port: 443,
    get host() {
      return hosts[looks++ % hosts.length]
    },
  }
}

function fail(): never {
  throw new Error('a trap of the caller')
}
