import { compilePolicy, decide, explain } from '@palisade/policy-core'
import { expect, test } from 'vitest'
import { policy, rule } from '../policies.ts'

const EMPTY = compilePolicy({ policies: [] })

test.each([
  [
    { action: 'connect:tcp', host: 'API.Example.com.', port: 443 },
    'allow connect:tcp api.example.com:443',
  ],
  [{ action: 'connect:udp', host: '192.0.2.7', port: 53 }, 'allow connect:udp 192.0.2.7:53'],
  [
    { action: 'connect:tcp', host: '2001:DB8::1', port: 443 },
    'allow connect:tcp [2001:db8::1]:443',
  ],
  [{ action: 'connect:tcp', host: '127.1', port: 80 }, 'allow connect:tcp 127.0.0.1:80'],
  [
    { action: 'connect:tcp', host: 'a.test', port: 80, address: '192.0.2.7' },
    'allow connect:tcp a.test:80',
  ],
  [{ action: 'read', path: '/data/x/' }, 'allow read /data/x'],
  // Canonical requests, which are decided without parsing.
  [{ action: 'connect:tcp', host: 'a.test', port: 443 }, 'allow connect:tcp a.test:443'],
  [{ action: 'connect:udp', host: 'a.test', port: 4430 }, 'allow connect:udp a.test:4430'],
  [{ action: 'connect:tcp', host: '192.0.2.7', port: 443 }, 'allow connect:tcp 192.0.2.7:443'],
  [{ action: 'connect:udp', host: '2001:db8::1', port: 53 }, 'allow connect:udp [2001:db8::1]:53'],
  [{ action: 'connect:udp', host: 'fe80::1', port: 443 }, 'allow connect:udp [fe80::1]:443'],
  [{ action: 'connect:tcp', host: '127.0.0.1', port: 22 }, 'allow connect:tcp 127.0.0.1:22'],
  [{ action: 'read', path: '/data/x' }, 'allow read /data/x'],
  [{ action: 'write', path: '/data/x' }, 'allow write /data/x'],
])('the hint of a denied %j is the narrowest rule: %s', (request, hint) => {
  expect(decide(EMPTY, request)).toMatchObject({ decision: 'deny', hint })
})

test.each([
  [{ host: 'localhost' }, 'localhost', '127.0.0.1'],
  [{ host: 'a.test', address: '::1' }, 'a.test', '::1'],
  [{ host: 'A.test.', address: '169.254.169.254' }, 'a.test', '169.254.169.254'],
  [{ host: 'a.test', address: '64:ff9b::7f00:1' }, 'a.test', '64:ff9b::7f00:1'],
])('the hint names the protected address that a name resolves to: %j', (host, name, address) => {
  const request = { action: 'connect:tcp', port: 443, ...host }
  const hint =
    `${name} resolves to the protected address ${address}, ` +
    'which an allow of the name never opens'

  expect(decide(EMPTY, request)).toMatchObject({ reason: 'protected_address', hint })
  expect(explain(EMPTY, request).detail).toContain('the name resolves to a protected address (')
})

test.each(['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '64:ff9b::a9fe:a9fe'])(
  'nothing advises to open the metadata address of a cloud: %s',
  (host) => {
    for (const policies of [[], [policy('p', rule('r', 'allow', ['connect:tcp'], '0.0.0.0/0'))]]) {
      const compiled = compilePolicy({ policies })
      const { reason, hint } = decide(compiled, { action: 'connect:tcp', host, port: 80 })

      expect(reason).toBe('protected_address')
      expect(hint).toBe(
        `${host} is an address of cloud metadata, which hands out the credentials of the machine`,
      )
    }
  },
)

test.each(['/data/*', '/data/**/a', '/data/a\tb', '/*.pem'])(
  'a path that no rule can name alone has no hint but an explanation: %j',
  (path) => {
    const explanation = explain(EMPTY, { action: 'write', path })

    expect(explanation).toMatchObject({ reason: 'default_deny', hint: null })
    expect(explanation.detail).toContain('no rule can name it alone')
  },
)

test('a deny by a rule has no hint, because an allow would not change it', () => {
  const compiled = compilePolicy({
    policies: [policy('p', rule('r', 'deny', ['connect:tcp'], 'a.test'))],
  })

  expect(decide(compiled, { action: 'connect:tcp', host: 'a.test', port: 1 }).hint).toBeNull()
})

test('an allow has no hint', () => {
  const compiled = compilePolicy({ policies: [policy('p', rule('r', 'allow', ['read'], '/**'))] })

  expect(decide(compiled, { action: 'read', path: '/' }).hint).toBeNull()
})
