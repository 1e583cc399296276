import packet from 'dns-packet'
import { describe, expect, it } from 'vitest'
import type { MachineDecision } from '../../../../../agent/src/decision/active-policy.ts'
import { answerQuery } from '../../../../../agent/src/sandbox/network/dns/answer-query.ts'
import { createNameTable } from '../../../../../agent/src/sandbox/network/dns/name-table.ts'
import { activePolicy } from '../../../fixture/active-policy.ts'
import { bundleClaims, bundleOf, policyOf, type RuleLine } from '../../../fixture/bundle.ts'

type Reply = packet.DecodedPacket & { readonly rcode: string }

function server(rules: readonly RuleLine[], maxNames = 1_000, settings = {}) {
  const { active, use, surroundings } = activePolicy()
  const claims = bundleClaims({ policies: [policyOf(...rules)] })
  use({ ...claims, settings: { ...claims.settings, ...settings } })
  const denials: MachineDecision[] = []
  const names = createNameTable(() => 0, { names: maxNames, keptMs: 1 })
  const answer = (bytes: Buffer): Buffer | null =>
    answerQuery(
      {
        decide: active.decide,
        portsOf: (name) => active.decisivePorts(name),
        names,
        onDenial: (decision) => denials.push(decision),
      },
      bytes,
    )
  const ask = (name: string, type = 'A', more: packet.Packet = {}): Reply => {
    const questions = [{ name, type: type as 'A', class: 'IN' as const }]
    const reply = answer(packet.encode({ type: 'query', id: 9, questions, ...more }))
    if (reply === null) throw new Error('no reply')
    return packet.decode(reply) as Reply
  }
  return { ask, answer, denials, names, use, surroundings }
}

const RULES: readonly RuleLine[] = [
  ['allow', 'connect:tcp', 'allowed.test:8443', '**.wild.test:443'],
  ['allow', 'connect:udp', 'datagrams.test:123'],
  ['deny', 'connect:tcp', 'bad.wild.test', 'split.wild.test:443'],
]

describe('a name', () => {
  it.each(['allowed.test', 'ALLOWED.Test', 'a.b.wild.test', 'datagrams.test'])(
    'that some port is allowed of has a synthetic address: `%s`',
    (name) => {
      const { ask, denials } = server(RULES)

      expect(ask(name)).toMatchObject({
        type: 'response',
        id: 9,
        rcode: 'NOERROR',
        questions: [{ name, type: 'A', class: 'IN' }],
        answers: [{ name, type: 'A', ttl: 5, data: '198.18.0.1' }],
      })
      expect(denials).toEqual([])
    },
  )

  it('in any spelling has one address', () => {
    const { ask } = server(RULES)

    const found = ['allowed.test', 'ALLOWED.test', 'allowed.test'].map(
      (name) => ask(name).answers?.[0],
    )

    expect(found.map((answer) => answer?.type === 'A' && answer.data)).toEqual(
      Array.from({ length: 3 }, () => '198.18.0.1'),
    )
  })

  it('that is allowed has no IPv6 address', () => {
    expect(server(RULES).ask('allowed.test', 'AAAA')).toMatchObject({
      rcode: 'NOERROR',
      answers: [],
    })
  })

  it.each(['TXT', 'ANY', 'SVCB', 'HTTPS', 'PTR', 'MX', 'NS', 'CNAME', 'SRV'])(
    'that is allowed has no record of type %s',
    (type) => {
      const { ask, denials, names } = server(RULES)

      expect(ask('allowed.test', type)).toMatchObject({ rcode: 'NOERROR', answers: [] })
      expect([denials, names.size()]).toEqual([[], 0])
    },
  )

  it.each(['evil.test', 'secret.evil.test', 'wild.test', 'bad.wild.test', 'xwild.test'])(
    'that no port is allowed of does not exist, and is recorded: `%s`',
    (host) => {
      const { ask, denials, names } = server(RULES)

      for (const type of ['A', 'AAAA', 'TXT'])
        expect(ask(host, type)).toMatchObject({ rcode: 'NXDOMAIN', answers: [] })
      const request = { action: 'connect:tcp', host, port: 443 }
      expect(denials).toMatchObject(
        Array.from({ length: 3 }, () => ({ decision: 'deny', request })),
      )
      expect(names.size()).toBe(0)
    },
  )

  it('that is denied on its only port does not exist', () => {
    expect(server(RULES).ask('split.wild.test')).toMatchObject({ rcode: 'NXDOMAIN' })
  })

  it.each([
    '192.0.2.1',
    '2130706433',
    '0x7f.1',
    'a b.test',
    '*.wild.test',
    'xn--.wild.test',
    '_sip._tcp.evil.test',
  ])('that is no name of an allowed host does not exist: `%s`', (name) => {
    const open: RuleLine = ['allow', 'connect:tcp', '192.0.2.1', '127.0.0.0/8', '**.wild.test']

    expect(server([open]).ask(name)).toMatchObject({ rcode: 'NXDOMAIN', answers: [] })
  })

  it('that only an address could allow is answered where such names are resolved', () => {
    const rules: readonly RuleLine[] = [['deny', 'connect:tcp', 'bad.test']]
    const resolving = { resolve_unlisted_names: true }

    expect(server(rules, 9, resolving).ask('any.test')).toMatchObject({ rcode: 'NOERROR' })
    expect(server(rules, 9).ask('any.test')).toMatchObject({ rcode: 'NXDOMAIN' })
  })

  it('does not exist without a policy in force, and after a change that denies it', () => {
    const { ask, use } = server(RULES)
    expect(ask('allowed.test').rcode).toBe('NOERROR')

    use(bundleOf(['deny', 'connect:tcp', 'allowed.test']))

    expect(ask('allowed.test').rcode).toBe('NXDOMAIN')
  })

  it('does not exist once the policy has expired, but for a host that stays reachable', () => {
    const offline = { offline_allow: ['allowed.test:1'] }
    const { ask, surroundings } = server(
      [['allow', 'connect:tcp', 'allowed.test', 'other.test']],
      9,
      offline,
    )
    surroundings.nowMs += 365 * 24 * 3_600_000

    expect(ask('other.test').rcode).toBe('NXDOMAIN')
    expect(ask('allowed.test').rcode).toBe('NOERROR')
  })

  it('is refused when the table is full, for both families', () => {
    const { ask, denials } = server([['allow', 'connect:tcp', '**.wild.test']], 2)
    for (const name of ['a.wild.test', 'b.wild.test'])
      expect(ask(name)).toMatchObject({ rcode: 'NOERROR' })

    for (const type of ['A', 'AAAA'])
      expect(ask('c.wild.test', type)).toMatchObject({ rcode: 'REFUSED' })
    expect(ask('a.wild.test')).toMatchObject({ rcode: 'NOERROR' })
    expect(denials).toEqual([])
  })

  it('case 60: is refused at most, however many others were asked for', () => {
    const { ask, names } = server([['allow', 'connect:tcp', '**.wild.test']], 4_096)

    const codes = new Set<string>()
    for (let index = 0; index < 100_000; index += 1) codes.add(ask(`n${index}.wild.test`).rcode)

    expect(names.size()).toBe(4_096)
    expect(codes).toEqual(new Set(['NOERROR', 'REFUSED']))
  })
})

describe('localhost', () => {
  it.each([
    ['localhost', 'A', '127.0.0.1'],
    ['app.localhost', 'A', '127.0.0.1'],
    ['LOCALHOST', 'AAAA', '::1'],
  ])('is loopback: `%s` %s', (name, type, data) => {
    const { ask, denials } = server([])

    expect(ask(name, type)).toMatchObject({ rcode: 'NOERROR', answers: [{ type, data }] })
    expect(denials).toEqual([])
  })

  it('has no other record', () => {
    expect(server([]).ask('localhost', 'TXT')).toMatchObject({ rcode: 'NOERROR', answers: [] })
  })
})

describe('a reply', () => {
  const edns: packet.OptAnswer = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: 4096,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  }

  it('says by an extended error that policy denies a name', () => {
    const { ask } = server(RULES)
    const text = 'denied by policy; run: palisade why'

    const reply = ask('evil.test', 'A', { additionals: [edns] })

    const data = Buffer.concat([Buffer.from([0, 18]), Buffer.from(text)])
    expect(reply).toMatchObject({
      rcode: 'NXDOMAIN',
      additionals: [{ type: 'OPT', options: [{ code: 15, data }] }],
    })
    expect(ask('evil.test')).toMatchObject({ rcode: 'NXDOMAIN', additionals: [] })
  })

  it('answers EDNS with EDNS', () => {
    const reply = server(RULES).ask('allowed.test', 'A', { additionals: [edns] })

    expect(reply).toMatchObject({
      rcode: 'NOERROR',
      answers: [{ data: '198.18.0.1' }],
      additionals: [{ type: 'OPT', udpPayloadSize: 512 }],
    })
  })

  it('to a malformed query repeats its id alone', () => {
    const { answer } = server(RULES)
    const bytes = packet.encode({ type: 'query', id: 300, questions: [] })

    const reply = packet.decode(answer(bytes) ?? Buffer.alloc(0)) as Reply

    expect(reply).toMatchObject({ id: 300, rcode: 'FORMERR', questions: [], answers: [] })
  })

  it('is not sent to an answer', () => {
    expect(server(RULES).answer(packet.encode({ type: 'response', id: 1 }))).toBeNull()
  })
})
