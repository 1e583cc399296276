import packet from 'dns-packet'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createFindClientPrograms } from '../../../../agent/src/host/process-lookup/find-client-programs.ts'
import type { SandboxNetworkDeps } from '../../../../agent/src/sandbox/network/sandbox-network.ts'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { publicNode } from '../../fixture/public-node.ts'
import { startSandbox, USERS, type SandboxScene } from '../../fixture/sandbox.ts'
import { openEcho } from '../../fixture/udp.ts'

const RULES: readonly RuleLine[] = [
  ['allow', 'connect:tcp', '**.allowed.test:443', 'allowed.test', '203.0.113.7:8080'],
  ['deny', 'connect:tcp', 'bad.allowed.test', '10.0.0.0/8'],
]
const NAMES = {
  'allowed.test': ['203.0.113.1'],
  'x.allowed.test': ['203.0.113.2'],
  'inner.allowed.test': ['10.1.2.3'],
  'bad.allowed.test': ['203.0.113.3'],
  'evil.test': ['203.0.113.4'],
}

/** Status of curl for a reset: while connecting, in the handshake of TLS, or on receiving. */
const RESET = [7, 35, 56]

function start(options: Parameters<typeof startSandbox>[1] = {}): Promise<SandboxScene> {
  return startSandbox(bundleOf(...RULES), { names: NAMES, ...options })
}

function expectUntouched({ resolved, dialled, received, errors }: SandboxScene): void {
  expect({ resolved, dialled, received: received(), errors }).toEqual({
    resolved: [],
    dialled: [],
    received: '',
    errors: [],
  })
}

function summarize({ events }: SandboxScene) {
  return events
    .filter(({ flow }) => flow === undefined)
    .map(({ point, protocol, decision, sandbox }) => {
      const { request } = decision
      const target = request !== null && 'host' in request ? `${request.host}:${request.port}` : ''
      return `${sandbox} ${point} ${protocol} ${decision.decision} ${target}`
    })
}

/** Sends queries of dns-packet over UDP from within the sandbox; returns the replies. */
async function query(scene: SandboxScene, to: string, ...queries: readonly Buffer[]) {
  const script = `
    const socket = require('node:dgram').createSocket('udp4')
    let left = ${queries.length}
    socket.on('message', (message) => {
      console.log(message.toString('base64'))
      if ((left -= 1) === 0) socket.close()
    })
    socket.connect(53, '${to}', () => {
      for (const text of ${JSON.stringify(queries.map((each) => each.toString('base64')))})
        socket.send(Buffer.from(text, 'base64'))
    })`
  const { stdout } = await scene.run(publicNode(), '-e', script)
  return stdout
    .trim()
    .split('\n')
    .map((line) => packet.decode(Buffer.from(line, 'base64')) as Reply)
}

type Reply = packet.DecodedPacket & { readonly rcode: string }

function question(name: string, type = 'A'): Buffer {
  const questions = [{ name, type: type as 'A', class: 'IN' as const }]
  return packet.encode({ type: 'query', id: 7, flags: packet.RECURSION_DESIRED, questions })
}

describe.each(USERS)('the network of a sandbox of %s', (user) => {
  it('case 62: carries a program that knows no proxy to an allowed name', async () => {
    const scene = await start({ user })

    const { stdout, stderr } = await scene.run('curl', '-sS', 'http://allowed.test/')

    expect([stdout, stderr]).toEqual(['yes', ''])
    expect(scene.resolved).toEqual(['allowed.test'])
    expect(scene.dialled).toEqual(['203.0.113.1:80'])
    expect(scene.received()).toContain('Host: allowed.test')
    expect(summarize(scene)).toEqual(['box capture tcp allow allowed.test:80'])
  })

  it('case 62: denies another name, an address and a port, and records each', async () => {
    const scene = await start({ user })

    const name = await scene.run('curl', '-sS', 'http://evil.test/')
    const address = await scene.run('curl', '-sS', 'http://203.0.113.9/')
    const ipv6 = await scene.run('curl', '-sSg', 'https://[2001:db8::9]/')
    const port = await scene.run('curl', '-sS', 'https://203.0.113.7:8443/')

    expect(name.code).toBe(6)
    expect(address.stdout).toContain('"reason":"default_deny"')
    expect(address.stdout).toContain('203.0.113.9:80 denied, no rule allows it')
    expect(RESET).toContain(ipv6.code)
    expect(RESET).toContain(port.code)
    expectUntouched(scene)
    expect(new Set(summarize(scene))).toEqual(
      new Set([
        'box dns dns deny evil.test:443',
        'box capture tcp deny 203.0.113.9:80',
        'box capture tcp deny 2001:db8::9:443',
        'box capture tcp deny 203.0.113.7:8443',
      ]),
    )
  })

  it('answers through the proxy of the sandbox as well, also for a synthetic address', async () => {
    const scene = await start({ user })

    const named = await scene.run('curl', '-sSx', 'http://127.0.0.1:3128', 'http://allowed.test/')
    const socks = await scene.run('curl', '-sS', '--socks5', '127.0.0.1:3128', 'allowed.test/')
    const denied = await scene.run('curl', '-sSx', 'http://127.0.0.1:3128', 'http://evil.test/')

    expect([named.stdout, socks.stdout]).toEqual(['yes', 'yes'])
    expect(denied.stdout).toContain('evil.test:80 denied')
    expect(scene.resolved).toEqual(['allowed.test', 'allowed.test'])
    expect(summarize(scene)).toEqual([
      'box proxy http allow allowed.test:80',
      'box proxy socks5 allow allowed.test:80',
      'box proxy http deny evil.test:80',
    ])
  })

  it('offers no datagrams over SOCKS5, whose socket a program could not reach', async () => {
    const scene = await startSandbox(bundleOf(['allow', 'connect:udp', '203.0.113.7']), { user })
    const script = `
      const socket = require('node:net').connect(3128, '127.0.0.1')
      socket.write(Buffer.from([5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]))
      let received = ''
      socket.on('data', (data) => (received += data.toString('hex')))
      socket.on('close', () => console.log(received))`

    const { stdout } = await scene.run(publicNode(), '-e', script)

    expect(stdout.trim()).toMatch(/^05000507/)
  })

  it('finds the programs of connections, queries and datagrams', async () => {
    const scene = await start({ user, onTarget: () => {}, udpPorts: [443] })
    const sending = `
      const socket = require('node:dgram').createSocket('udp4')
      socket.send(Buffer.from('${question('evil.test').toString('hex')}', 'hex'), 53, '127.0.0.1')
      socket.send('quic', 443, '203.0.113.9')
      setInterval(() => {}, 1_000)`

    const captured = scene.start('curl', '-sS', 'http://allowed.test/')
    const proxied = scene.start('curl', '-sSx', 'http://127.0.0.1:3128', 'http://allowed.test/')
    const sender = scene.start(publicNode(), '-e', sending)
    await expect.poll(() => scene.events.length, { timeout: 60_000 }).toBe(4)
    const ends = scene.events.flatMap(({ client }) => (client === null ? [] : [client]))
    const found = await createFindClientPrograms(() => ({ address: '127.0.0.1', port: 1 }))(ends)

    const byPoint = scene.events.map(({ point, protocol }, index) => [
      `${point} ${protocol}`,
      found[index]?.pid,
    ])
    expect(Object.fromEntries(byPoint)).toEqual({
      'capture tcp': captured.pid,
      'proxy http': proxied.pid,
      'dns dns': sender.pid,
      'capture udp': sender.pid,
    })
    expect(found).toContainEqual(expect.objectContaining({ executable: '/usr/bin/curl' }))
  })

  it('holds a captured connection to the name of its address', async () => {
    const scene = await start({ user })
    const { stdout } = await scene.run('getent', 'ahostsv4', 'x.allowed.test')
    const [address] = stdout.split(' ')

    const to = `bad.allowed.test:443:${address}`
    const foreign = await scene.run('curl', '-sS', '--resolve', to, 'https://bad.allowed.test/')

    expect(RESET).toContain(foreign.code)
    expect(scene.received()).toBe('')
    expect(scene.dialled).toEqual(['203.0.113.2:443'])
    expect(scene.events.at(-1)).toMatchObject({
      point: 'capture',
      decision: { decision: 'deny', content: 'foreign_name' },
      flow: { cause: 'content' },
    })
    await scene.run('curl', '-sS', 'https://x.allowed.test/')
    expect(scene.received()).toContain('x.allowed.test')
  })

  it('holds a plain request to the name of its address', async () => {
    const scene = await start({ user })

    const args = ['-sS', '-H', 'Host: evil.test', 'http://allowed.test/']
    const { stdout } = await scene.run('curl', ...args)

    expect(stdout).toContain('"content":"foreign_name"')
    expect(scene.received()).toBe('')
    expect(scene.events.at(-1)).toMatchObject({
      point: 'capture',
      decision: { decision: 'deny', content: 'foreign_name' },
    })
  })

  it('denies a name whose address is denied', async () => {
    const scene = await start({ user })

    const { code } = await scene.run('curl', '-sS', 'https://inner.allowed.test/')

    expect(RESET).toContain(code)
    expect(scene.dialled).toEqual([])
    expect(summarize(scene)).toEqual(['box capture tcp deny inner.allowed.test:443'])
  })

  it('case 58: lets no label of another name out, by any resolver', async () => {
    const scene = await start({ user })
    const name = 'secret.evil.test'
    const tcp = (address: string) =>
      `use Socket; socket(S, PF_INET, SOCK_STREAM, 0);
       connect(S, sockaddr_in(53, inet_aton('${address}'))) or die $!;
       syswrite(S, pack('n/a', pack('H*', '${question(name).toString('hex')}')));
       sysread(S, $r, 512); print unpack('H*', $r)`

    expect((await scene.run('getent', 'hosts', name)).code).toBe(2)
    for (const resolver of ['127.0.0.1', '8.8.8.8', '192.168.1.1'])
      expect(await query(scene, resolver, question(name))).toMatchObject([{ rcode: 'NXDOMAIN' }])
    for (const resolver of ['127.0.0.1', '8.8.8.8']) {
      const { stdout } = await scene.run('perl', '-e', tcp(resolver))
      const reply = packet.streamDecode(Buffer.from(stdout, 'hex'))
      expect(reply).toMatchObject({ rcode: 'NXDOMAIN' })
    }
    // DNS over TLS and over HTTPS, and multicast.
    expect(RESET).toContain((await scene.run('curl', '-sS', 'https://8.8.8.8:853/')).code)
    expect(RESET).toContain((await scene.run('curl', '-sS', 'https://8.8.8.8/dns-query')).code)
    for (const [address, port] of [
      ['224.0.0.251', 5353],
      ['224.0.0.252', 5355],
    ]) {
      const script = `const socket = require('node:dgram').createSocket('udp4')
        socket.send('${name}', ${port}, '${address}', () => socket.close())`
      await scene.run(publicNode(), '-e', script)
    }
    expectUntouched(scene)
  })

  it('answers for a service of an allowed name, over both transports', async () => {
    const asked: string[] = []
    const deps: Partial<SandboxNetworkDeps> = {
      resolveServices: async (name) => {
        asked.push(name)
        return [
          { name: 'allowed.test', port: 80, priority: 1, weight: 1 },
          { name: 'evil.test', port: 80, priority: 2, weight: 1 },
        ]
      },
    }
    const scene = await start({ user, deps })
    const service = question('_web._tcp.allowed.test', 'SRV')
    const overTcp = `use Socket; socket(S, PF_INET, SOCK_STREAM, 0);
      connect(S, sockaddr_in(53, inet_aton('8.8.8.8'))) or die $!;
      syswrite(S, pack('n/a', pack('H*', '${service.toString('hex')}')));
      sysread(S, $r, 512); print unpack('H*', $r)`

    const [reply] = await query(scene, '127.0.0.1', service)
    const { stdout } = await scene.run('perl', '-e', overTcp)

    const answers = [{ type: 'SRV', data: { target: 'allowed.test', port: 80 } }]
    expect(reply).toMatchObject({ rcode: 'NOERROR', answers })
    expect(packet.streamDecode(Buffer.from(stdout, 'hex'))).toMatchObject({ answers })
    expect(asked).toEqual(['_web._tcp.allowed.test', '_web._tcp.allowed.test'])
    expect(new Set(summarize(scene))).toEqual(new Set(['box dns dns deny evil.test:80']))
  })

  it('case 59: answers hostile queries at once, and others after them', async () => {
    const scene = await start({ user })
    const good = question('allowed.test')
    const twice = Buffer.concat([good, good.subarray(12)])
    twice.writeUInt16BE(2, 4)
    const pointer = Buffer.concat([good.subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])])

    const replies = await query(
      scene,
      '127.0.0.1',
      ...['TXT', 'ANY', 'SVCB', 'HTTPS', 'PTR', 'MX'].map((type) => question('allowed.test', type)),
      twice,
      pointer,
      Buffer.concat([good, Buffer.alloc(1)]),
      Buffer.concat([good, Buffer.alloc(40_000)]),
      good,
    )

    expect(replies.map(({ rcode }) => rcode)).toEqual([
      ...Array.from({ length: 6 }, () => 'NOERROR'),
      ...Array.from({ length: 4 }, () => 'FORMERR'),
      'NOERROR',
    ])
    expectUntouched(scene)
    expect(scene.events).toEqual([])
  })

  it('case 61: knows no synthetic address of another sandbox', async () => {
    const [one, other] = [await start({ user }), await start({ user })]
    const { stdout } = await one.run('getent', 'ahostsv4', 'allowed.test')
    const [address = ''] = stdout.split(' ')

    const guess = await other.run('curl', '-sS', `http://${address}/`)
    const through = await other.run('curl', '-sSx', '127.0.0.1:3128', `https://${address}/`)

    expect(address).toMatch(/^198\.1[89]\./)
    expect(guess.stdout).toContain('"reason":"protected_address"')
    expect(through.stderr).toContain('403')
    expectUntouched(other)
    // In its own sandbox it is the name, which the request must then ask for.
    const own = await one.run('curl', '-sS', `http://${address}/`)
    expect(own.stdout).toContain('"content":"foreign_name"')
  })

  it('case 61: opens no synthetic address by a range that allows all', async () => {
    const all: RuleLine = ['allow', 'connect:tcp', '0.0.0.0/0', '127.0.0.0/8']
    const scene = await startSandbox(bundleOf(all), { user })

    const { stdout } = await scene.run('curl', '-sS', 'http://198.18.0.1/')

    expect(stdout).toContain('"reason":"protected_address"')
    expectUntouched(scene)
  })

  it('case 104: serves two sandboxes by their own policies', async () => {
    const one = await start({ user })
    const other = await startSandbox(bundleOf(['allow', 'connect:tcp', 'evil.test']), {
      user,
      names: NAMES,
    })

    const [mine, theirs] = await Promise.all([
      one.run('curl', '-sS', 'http://allowed.test/'),
      other.run('curl', '-sS', 'http://evil.test/'),
    ])
    const [crossed, back] = await Promise.all([
      one.run('curl', '-sS', 'http://evil.test/'),
      other.run('curl', '-sS', 'http://allowed.test/'),
    ])

    expect([mine.stdout, theirs.stdout]).toEqual(['yes', 'yes'])
    expect([crossed.code, back.code]).toEqual([6, 6])
    expect([one.resolved, other.resolved]).toEqual([['allowed.test'], ['evil.test']])
  })

  it('leaves loopback to the sandbox, and reaches the machine by its name alone', async () => {
    const scene = await startSandbox(
      bundleOf(['allow', 'connect:tcp', 'host.sandbox.internal:8000', '127.0.0.1', 'localhost']),
      { user, names: { 'other.test': ['127.0.0.1'] } },
    )

    const host = await scene.run('curl', '-sS', 'http://host.sandbox.internal:8000/')
    const own = await scene.run('curl', '-sS', 'http://127.0.0.1:8000/')
    const proxied = await scene.run('curl', '-sSx', '127.0.0.1:3128', 'http://127.0.0.1:8000/')
    const named = await scene.run('curl', '-sSx', '127.0.0.1:3128', 'http://localhost:8000/')
    const direct = await scene.run('curl', '-sS', 'http://127.0.0.1:12345/')

    expect(host.stdout).toBe('yes')
    // No server of the sandbox listens there.
    expect(own.code).toBe(7)
    for (const { stdout } of [proxied, named]) expect(stdout).toContain('protected_address')
    expect(RESET).toContain(direct.code)
    expect(scene.dialled).toEqual(['127.0.0.1:8000'])
    expect(scene.resolved).toEqual([])
  })

  it('does not reach the machine by its name without a rule on its address', async () => {
    const scene = await startSandbox(bundleOf(['allow', 'connect:tcp', 'host.sandbox.internal']), {
      user,
    })

    const { stdout } = await scene.run('curl', '-sS', 'http://host.sandbox.internal/')

    expect(stdout).toContain('"reason":"protected_address"')
    expectUntouched(scene)
  })

  it('carries datagrams to an allowed name and port, and no others', async () => {
    const echo = await openEcho()
    const scene = await startSandbox(
      bundleOf([
        'allow',
        'connect:udp',
        `echo.test:${echo.port}`,
        '127.0.0.1',
        `203.0.113.7:${echo.port}`,
      ]),
      { user, names: { 'echo.test': ['127.0.0.1'] }, udpPorts: [echo.port] },
    )
    const send = (host: string, port: number) =>
      scene.run(
        publicNode(),
        '-e',
        `const socket = require('node:dgram').createSocket('udp4')
         socket.on('message', (message) => { console.log(String(message)); socket.close() })
         socket.on('error', (error) => { console.log(error.code); socket.close() })
         socket.connect(${port}, '${host}', () => socket.send('hello'))
         setTimeout(() => { console.log('silence'); process.exit() }, 3_000).unref()`,
      )

    // Loopback of the machine is denied to a name that is not its own.
    expect((await send('echo.test', echo.port)).stdout.trim()).toBe('silence')
    expect((await send('echo.test', 9)).stdout.trim()).toBe('ECONNREFUSED')
    expect((await send('203.0.113.9', echo.port)).stdout.trim()).toBe('silence')
    expect(echo.received).toEqual([])
    expect(summarize(scene)).toEqual([
      `box capture udp deny echo.test:${echo.port}`,
      `box capture udp deny 203.0.113.9:${echo.port}`,
    ])
  })

  it('carries datagrams to the machine where rules allow its name and address', async () => {
    const echo = await openEcho()
    const scene = await startSandbox(
      bundleOf(['allow', 'connect:udp', `host.sandbox.internal:${echo.port}`, '127.0.0.1']),
      { user, udpPorts: [echo.port] },
    )
    const script = `const socket = require('node:dgram').createSocket('udp4')
      const seen = []
      socket.on('message', (message) => {
        seen.push(String(message))
        if (seen.length < 2) return
        console.log(seen.join())
        socket.close()
      })
      socket.send('one', ${echo.port}, 'host.sandbox.internal')
      socket.send('two', ${echo.port}, 'host.sandbox.internal')`

    const { stdout } = await scene.run(publicNode(), '-e', script)

    expect(stdout.trim().split(',').toSorted()).toEqual(['re: one', 're: two'])
    scene.close()
    await expect.poll(() => scene.events.at(-1)?.flow).toMatchObject({ bytesSent: 6 })
  })

  it('case 33: sends no QUIC to a name that only TCP may reach', async () => {
    const scene = await start({ user, udpPorts: [443] })

    await scene.run(
      publicNode(),
      '-e',
      `const socket = require('node:dgram').createSocket('udp4')
       socket.send('quic', 443, 'allowed.test', () => socket.close())`,
    )

    await expect
      .poll(() => summarize(scene), { timeout: 60_000 })
      .toEqual(['box capture udp deny allowed.test:443'])
    expectUntouched(scene)
  })

  it('case 34: sends no packets of other protocols', async () => {
    const scene = await start({ user })
    const script = (family: string, type: string, protocol: number) =>
      `use Socket; $! = 0;
       socket(S, ${family}, ${type}, ${protocol})
         && send(S, chr(8) . chr(0) x 7, 0, pack_sockaddr_in(9, inet_aton('203.0.113.7')))
         && die 'sent'; print $! + 0`
    const [icmp, udp, packets, sctp] = [1, 17, 768, 132]

    const errors: string[] = []
    for (const each of [
      script('PF_INET', 'SOCK_RAW', icmp),
      script('PF_INET', 'SOCK_RAW', udp),
      script('17', 'SOCK_RAW', packets),
    ])
      errors.push((await scene.run('perl', '-e', each)).stdout)
    const stream = await scene.run('perl', '-e', script('PF_INET', 'SOCK_STREAM', sctp))

    expect(errors).toEqual(['1', '1', '1'])
    expect(stream.stdout).toMatch(/^[1-9]/)
    expectUntouched(scene)
  })

  it('closes a captured connection once the policy denies it', async () => {
    const scene = await start({ user, onTarget: () => {} })
    const client = scene.start('curl', '-sS', 'http://allowed.test/')
    await expect.poll(() => scene.received(), { timeout: 60_000 }).toContain('Host')

    scene.use(bundleOf(['deny', 'connect:tcp', 'allowed.test']))
    const [code] = await once(client, 'close')

    expect(RESET.concat(52)).toContain(code)
    expect(scene.events.at(-1)).toMatchObject({ flow: { cause: 'revoked' }, sandbox: 'box' })
  })

  it('refuses every connection and every name once it is closed', async () => {
    const scene = await start({ user, onTarget: () => {} })
    const client = scene.start('curl', '-sS', 'http://allowed.test/')
    await expect.poll(() => scene.received(), { timeout: 60_000 }).toContain('Host')

    scene.close()
    scene.close()
    await once(client, 'close')
    const later = await scene.run('curl', '-sS', 'http://allowed.test/')
    const direct = await scene.run('curl', '-sS', 'http://203.0.113.7:8080/')

    expect([later.code, direct.code]).toEqual([6, 7])
    expect(scene.errors).toEqual([])
  })
})
