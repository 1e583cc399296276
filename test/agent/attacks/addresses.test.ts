import { describe, expect, it } from 'vitest'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleOf, type RuleLine } from '../fixture/bundle.ts'
import { clientHello } from '../fixture/client-hello.ts'
import {
  ask,
  DIALECTS,
  expectUntouched,
  NAMES,
  openTunnelTo,
  RULES,
  startAttack,
  type Outcome,
} from '../fixture/attack-scene.ts'

const ANY_ADDRESS: RuleLine = ['allow', 'connect:tcp', '0.0.0.0/0', '::/0']

/** Expects one outcome for each host in each dialect, without a query or a connection. */
async function expectRefused(
  hosts: readonly string[],
  outcome: Outcome,
  { rules = RULES, reason }: { rules?: readonly RuleLine[]; reason?: string } = {},
): Promise<void> {
  const scene = await startAttack({ rules })
  for (const host of hosts) {
    for (const dialect of DIALECTS)
      expect([host, dialect, await ask(scene, dialect, host)]).toEqual([host, dialect, outcome])
  }
  expectUntouched(scene)
  const reasons = new Set(scene.decisions.map((decision) => decision.reason))
  expect([...reasons]).toEqual(
    outcome === 'denied' && reason !== undefined ? [reason] : [...reasons],
  )
}

describe('an address as host', () => {
  it('case 12: any spelling of an IPv4 address is that address', async () => {
    const spellings = ['127.1', '0x7f.1', '0177.0.0.1', '2130706433', '0']
    await expectRefused(spellings, 'denied', { rules: [ANY_ADDRESS], reason: 'protected_address' })
    // Circled digits are not ASCII, so they are refused on the wire and folded elsewhere.
    const circled = '①②⑦.⓪.⓪.①'
    await expectRefused([circled], 'malformed', { rules: [ANY_ADDRESS] })
    const { active, use } = activePolicy()
    use(bundleOf(ANY_ADDRESS))
    expect(active.decide({ action: 'connect:tcp', host: circled, port: 443 })).toMatchObject({
      decision: 'deny',
      request: { host: '127.0.0.1' },
    })
  })

  it('case 13: any spelling of a denied address is denied by its rule', async () => {
    await expectRefused(['10.1', '012.0.0.1', '0xa000001', '167772161'], 'denied', {
      rules: [ANY_ADDRESS, ...RULES],
      reason: 'rule',
    })
  })

  it('case 14: numbers that are no address are refused', async () => {
    await expectRefused(['1.2.3.4.5', '256.1.1.1', '1.2.3.4..'], 'malformed')
    await expectRefused(['1.2.3.4.'], 'denied', { reason: 'default_deny' })
  })

  it('case 15: IPv4 inside IPv6 is denied by the rule on IPv4', async () => {
    const forms = ['[::ffff:10.0.0.1]', '[::10.0.0.1]', '[::ffff:0:10.0.0.1]']
    await expectRefused(forms, 'denied', { rules: [ANY_ADDRESS, ...RULES], reason: 'rule' })
  })

  it('case 16: NAT64, 6to4 and Teredo forms are denied by the rule on IPv4', async () => {
    // Teredo holds the address of its server, and that of its client inverted.
    const forms = [
      '[64:ff9b::a00:1]',
      '[2002:a00:1::]',
      '[2001:0:a00:1::]',
      '[2001:0:c000:201::f5ff:fffe]',
    ]
    await expectRefused(forms, 'denied', { rules: [ANY_ADDRESS, ...RULES], reason: 'rule' })
  })

  it('case 17: the local prefix of NAT64 is denied unless it is allowed by name', async () => {
    await expectRefused(['[64:ff9b:1::a00:1]'], 'denied')
    // Its bits are read in several ways, some of which give a protected address.
    const address = '64:ff9b:1::c633:6401'
    for (const [resource, outcome] of [
      ['64:ff9b:1::/48', 'denied'],
      [address, 'granted'],
    ] as const) {
      const scene = await startAttack({ rules: [['allow', 'connect:tcp', resource]] })
      expect(await ask(scene, 'connect', `[${address}]`)).toBe(outcome)
    }
  })

  it('case 18: spellings of IPv6 are equal, and zones are refused', async () => {
    const rules: readonly RuleLine[] = [['deny', 'connect:tcp', '2001:db8::1'], ANY_ADDRESS]
    const spellings = ['[2001:DB8::1]', '[2001:0db8:0:0:0:0:0:1]', '[2001:db8::0.0.0.1]']
    await expectRefused(spellings, 'denied', { rules, reason: 'rule' })
    await expectRefused(['[fe80::1%eth0]', '[fe80::1%25eth0]'], 'malformed', { rules })
  })

  it('case 19: local and special addresses are protected from a rule on all', async () => {
    const { surroundings, ...policy } = activePolicy()
    surroundings.machineAddresses = ['192.0.2.7', '2001:db8::7']
    const scene = await startAttack({ rules: [ANY_ADDRESS], policy })
    const hosts = ['0.0.0.0', '[::]', '127.0.0.2', '[::1]', '192.0.2.7', '[2001:db8::7]']
    for (const host of [...hosts, '255.255.255.255', '224.0.0.1', '[ff02::1]', '[fe80::1]'])
      for (const dialect of DIALECTS)
        expect([host, await ask(scene, dialect, host)]).toEqual([host, 'denied'])
    expectUntouched(scene)
  })

  it.each(['169.254.169.254', '100.100.100.200', 'fd00:ec2::254', '168.63.129.16'])(
    'case 20: metadata address %s is protected as literal and by name',
    async (address) => {
      const rules: readonly RuleLine[] = [ANY_ADDRESS, ['allow', 'connect:tcp', '**.allowed.test']]
      const host = address.includes(':') ? `[${address}]` : address
      await expectRefused([host], 'denied', { rules, reason: 'protected_address' })
      const scene = await startAttack({ rules, names: { 'm.allowed.test': [address] } })
      for (const dialect of DIALECTS)
        expect(await ask(scene, dialect, 'm.allowed.test')).toBe('denied')
      expect(scene.dialled).toEqual([])
    },
  )

  it('case 21: the address of a denied name is not allowed by any name', async () => {
    await expectRefused(['198.51.100.1', '[2001:db8::1]'], 'denied', { reason: 'default_deny' })
  })

  it.each([
    ['TLS', clientHello({ serverName: 'bad.allowed.test' })],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: bad.allowed.test:443\r\n\r\n')],
  ])('case 22: %s for a denied name at an allowed address is closed', async (_title, flight) => {
    for (const dialect of ['connect', 'socks5'] as const) {
      const rules: readonly RuleLine[] = [...RULES, ['allow', 'connect:tcp', '198.51.100.0/24']]
      const scene = await startAttack({ rules })
      const tunnel = await openTunnelTo(scene, '198.51.100.1', 443, dialect)
      tunnel.socket.write(flight)
      await tunnel.rest()
      expect(scene.received()).toBe('')
      await expect.poll(() => scene.ends).toMatchObject([{ decision: { content: 'foreign_name' } }])
    }
  })

  it('case 29: an IPv6 form does not escape a deny beside an allow of all', async () => {
    const rules: readonly RuleLine[] = [
      ['allow', 'connect:tcp', '0.0.0.0/0'],
      ['deny', 'connect:tcp', '10.0.0.0/8'],
    ]
    await expectRefused(['10.0.0.1', '[::ffff:10.0.0.1]', '[::ffff:a00:1]'], 'denied', { rules })
  })
})

describe('the addresses of an allowed name', () => {
  it.each(DIALECTS)('case 23: are all denied, so %s gets no connection', async (dialect) => {
    const scene = await startAttack({
      names: { 'x.allowed.test': ['10.0.0.1', '169.254.169.254', 'fd00::1', '127.0.0.1'] },
    })
    expect(await ask(scene, dialect, 'x.allowed.test')).toBe('denied')
    expect([scene.resolved, scene.dialled]).toEqual([['x.allowed.test'], []])
  })

  it.each(DIALECTS)('case 24: are mixed, so %s reaches only the permitted one', async (dialect) => {
    const mixed = ['10.0.0.1', '::ffff:10.0.0.2', '198.51.100.1', 'fd00::1', '127.0.0.1']
    const scene = await startAttack({ names: { 'x.allowed.test': mixed } })
    expect(await ask(scene, dialect, 'x.allowed.test')).toBe('granted')
    expect(scene.dialled).toEqual(['198.51.100.1:443'])
  })

  it.each(DIALECTS)(
    'case 25: are asked for once by %s, and dialled as decided',
    async (dialect) => {
      let asked = 0
      const names = {
        get 'x.allowed.test'() {
          asked += 1
          return asked === 1 ? ['198.51.100.1'] : ['169.254.169.254']
        },
      }
      const scene = await startAttack({ names })
      expect(await ask(scene, dialect, 'x.allowed.test')).toBe('granted')
      expect([asked, scene.dialled]).toEqual([1, ['198.51.100.1:443']])
    },
  )

  it('case 26: belong to an interface that came up after the start', async () => {
    const { surroundings, ...policy } = activePolicy()
    const scene = await startAttack({ policy })
    expect(await ask(scene, 'connect', 'x.allowed.test')).toBe('granted')
    surroundings.machineAddresses = ['198.51.100.1']
    for (const dialect of DIALECTS)
      expect(await ask(scene, dialect, 'x.allowed.test')).toBe('denied')
    expect(scene.dialled).toHaveLength(1)
  })

  it('case 27: come through an alias, whose own names no rule sees', async () => {
    // `x.allowed.test` is an alias of `bad.allowed.test`: a resolver returns addresses alone.
    const scene = await startAttack({
      names: { 'x.allowed.test': NAMES['bad.allowed.test'] ?? [] },
    })
    expect(await ask(scene, 'connect', 'x.allowed.test')).toBe('granted')
    expect(await ask(scene, 'connect', 'bad.allowed.test')).toBe('denied')
  })

  it('case 28: `localhost` never leaves the machine, whatever a resolver says', async () => {
    const names = { localhost: ['198.51.100.1'], 'x.localhost': ['198.51.100.1'] }
    const rules: readonly RuleLine[] = [['allow', 'connect:tcp', 'localhost', '**.localhost']]
    const scene = await startAttack({ rules, names })
    for (const host of ['localhost', 'x.localhost', 'LOCALHOST.'])
      for (const dialect of DIALECTS) expect(await ask(scene, dialect, host)).toBe('denied')
    expectUntouched(scene)
  })
})
