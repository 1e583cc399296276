import packet from 'dns-packet'
import { describe, expect, it } from 'vitest'
import type { MachineDecision } from '../../../../../agent/src/policy/decision/active-policy.ts'
import { answerQuery } from '../../../../../agent/src/sandbox/network/dns/answer-query.ts'
import type { ResolveServices } from '../../../../../agent/src/proxy/target/resolver.ts'
import { createAnswerService } from '../../../../../agent/src/sandbox/network/dns/answer-service.ts'
import { createNameTable } from '../../../../../agent/src/sandbox/network/dns/name-table.ts'
import { activePolicy } from '../../../fixture/active-policy.ts'
import { bundleClaims, bundleOf, policyOf, type RuleLine } from '../../../fixture/bundle.ts'

type Reply = packet.DecodedPacket & { readonly rcode: string }

function server(
  rules: readonly RuleLine[],
  maxNames = 1_000,
  settings = {},
  resolveServices: ResolveServices = async () => [],
) {
  const { active, use, surroundings } = activePolicy()
  const claims = bundleClaims({ policies: [policyOf(...rules)] })
  use({ ...claims, settings: { ...claims.settings, ...settings } })
  const denials: MachineDecision[] = []
  const names = createNameTable(() => 0, { names: maxNames, keptMs: 1 })
  const answerService = createAnswerService(resolveServices)
  const answerAny = (bytes: Buffer): ReturnType<typeof answerQuery> =>
    answerQuery(
      {
        decide: active.decide,
        portsOf: (name) => active.decisivePorts(name),
        names,
        onDenial: (decision) => denials.push(decision),
        answerService,
      },
      bytes,
    )
  const answer = (bytes: Buffer): Buffer | null => {
    const reply = answerAny(bytes)
    if (reply instanceof Promise) throw new Error('a lookup')
    return reply
  }
  const askService = async (name: string): Promise<Reply> => {
    const questions = [{ name, type: 'SRV' as const, class: 'IN' as const }]
    const reply = await answerAny(packet.encode({ type: 'query', id: 9, questions }))
    return packet.decode(reply ?? Buffer.alloc(0)) as Reply
  }
  const ask = (name: string, type = 'A', more: packet.Packet = {}): Reply => {
    const questions = [{ name, type: type as 'A', class: 'IN' as const }]
    const reply = answer(packet.encode({ type: 'query', id: 9, questions, ...more }))
    if (reply === null) throw new Error('no reply')
    return packet.decode(reply) as Reply
  }
  return { ask, askService, answer, denials, names, use, surroundings }
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

describe('a service', () => {
  const rules: readonly RuleLine[] = [
    ['allow', 'connect:tcp', 'mongo.test', 'db1.test:27017', '**.wild.test'],
    ['deny', 'connect:tcp', 'bad.wild.test'],
  ]
  const target = (name: string, port = 27_017) => ({ name, port, priority: 1, weight: 2 })
  const withTargets = (...targets: ReturnType<typeof target>[]) => {
    const asked: string[] = []
    const made = server(rules, 9, {}, async (name) => {
      asked.push(name)
      return targets
    })
    return { ...made, asked }
  }

  it('of an allowed host has the targets that policy allows', async () => {
    const { askService, denials, asked } = withTargets(
      target('DB1.test'),
      target('db1.test', 22),
      target('evil.test'),
      target('a.wild.test'),
      target('bad.wild.test'),
      target('127.0.0.1'),
      target(''),
    )

    const reply = await askService('_MongoDB._tcp.Mongo.test')

    expect(asked).toEqual(['_mongodb._tcp.mongo.test'])
    expect(reply).toMatchObject({ rcode: 'NOERROR' })
    expect(reply.answers?.map((each) => each.type === 'SRV' && each.data)).toEqual([
      { priority: 1, weight: 2, port: 27_017, target: 'db1.test' },
      { priority: 1, weight: 2, port: 27_017, target: 'a.wild.test' },
    ])
    expect(denials.map(({ request }) => request)).toMatchObject([
      { host: 'db1.test', port: 22 },
      { host: 'evil.test', port: 27_017 },
      { host: 'bad.wild.test', port: 27_017 },
    ])
  })

  it.each(['_mongodb._tcp.evil.test', 'evil.test'])(
    'of a host that is not allowed is never asked for: `%s`',
    async (name) => {
      const { askService, denials, asked } = withTargets(target('db1.test'))

      expect(await askService(name)).toMatchObject({ rcode: 'NXDOMAIN', answers: [] })
      expect([asked, denials.length]).toEqual([[], 1])
    },
  )

  it.each([
    '_mongodb._tcp.bad.wild.test',
    '_a-long-secret-label._tcp.a.wild.test',
    '_x._y._tcp.a.wild.test',
    '_x._tls.a.wild.test',
  ])(
    'that is denied, or whose name is no name of a service, is never asked for: `%s`',
    async (name) => {
      const { askService, asked } = withTargets(target('db1.test'))

      expect((await askService(name)).answers).toEqual([])
      expect(asked).toEqual([])
    },
  )

  it.each([
    ['ENODATA', 'NOERROR'],
    ['ENOTFOUND', 'NOERROR'],
    ['ETIMEOUT', 'SERVFAIL'],
  ])('that fails with %s is answered %s', async (code, rcode) => {
    const { askService } = server(rules, 9, {}, () =>
      Promise.reject(Object.assign(new Error('failed'), { code })),
    )

    expect(await askService('_x._tcp.mongo.test')).toMatchObject({ rcode, answers: [] })
  })

  it('with many targets has those that fit into a datagram', async () => {
    const many = Array.from({ length: 40 }, (_, at) => target(`${'x'.repeat(50)}${at}.wild.test`))

    const { answers = [] } = await withTargets(...many).askService('_x._tcp.mongo.test')

    expect(answers.length).toBeGreaterThan(3)
    expect(answers.length).toBeLessThan(8)
  })

  it('waits for a bounded number of lookups', async () => {
    const { askService } = server(rules, 9, {}, () => new Promise(() => {}))
    for (let lookup = 0; lookup < 32; lookup += 1) void askService('_x._tcp.mongo.test')

    expect(await askService('_x._tcp.mongo.test')).toMatchObject({ rcode: 'SERVFAIL' })
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
