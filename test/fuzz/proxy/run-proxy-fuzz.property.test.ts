import { connect, type ConnectionOptions } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { createRandom, type Random } from '../../../bench/src/workload/random.ts'
import { startTcpServer } from '../../agent/fixture/proxy.ts'
import { casesOfRun, seedOfRun } from '../../lanes/run-size.ts'
import { readFlight, readByNode } from './check-bytes.ts'
import { readProxyOptions } from './command.ts'
import { runProxyFuzz } from './run-proxy-fuzz.ts'

describe('the parsers of the proxy', () => {
  it('break no law for mutated bytes, and agree with the parser of Node', async () => {
    const seed = seedOfRun()

    expect([seed, await runProxyFuzz({ seed, cases: casesOfRun(100_000) })]).toEqual([seed, null])
  })

  it('find the server name in each hello of OpenSSL', async () => {
    const seed = seedOfRun()
    const random = createRandom(seed)
    const hellos: Buffer[] = []
    const port = await startTcpServer((socket) => {
      socket.once('data', (hello: Buffer) => {
        hellos.push(hello)
        socket.destroy()
      })
    })
    for (let count = 0; count < casesOfRun(300); count += 1) {
      const options = drawOptions(random)
      const client = connect({ ...options, port, host: '127.0.0.1' })
      client.on('error', () => {})
      await new Promise((resolve) => client.once('close', resolve))
      const hello = hellos.pop() ?? Buffer.alloc(0)
      expect([seed, options, readFlight(hello, 1 + random.integer(600))]).toMatchObject([
        seed,
        options,
        { kind: 'tls', serverName: options.servername },
      ])
    }
  })
})

function drawOptions(random: Random): ConnectionOptions & { servername: string } {
  const versions = ['TLSv1.2', 'TLSv1.3'] as const
  const [minVersion, maxVersion] = random.pick([
    [versions[0], versions[0]],
    [versions[0], versions[1]],
    [versions[1], versions[1]],
  ] as const)
  const protocols = ['h2', 'http/1.1', 'x'.repeat(200)].slice(random.integer(3))
  return {
    servername: `${'a'.repeat(1 + random.integer(60))}.test`,
    minVersion,
    maxVersion,
    ecdhCurve: random.pick(['X25519', 'P-256:X25519', 'auto', 'P-521:P-384']),
    ...(random.next() < 0.5 ? { ALPNProtocols: protocols } : {}),
  }
}

describe('the comparison with Node', () => {
  it('reads the requests that the proxy must not carry as another protocol', async () => {
    const spellings = [
      'GET / RTSP/1.0',
      'SOURCE / ICE/1.0',
      'GET /',
      'GET foo://evil.test/ HTTP/1.1',
    ]
    for (const line of spellings) {
      const bytes = Buffer.from(`${line}\r\nHost: evil.test\r\n\r\n`)
      expect((await readByNode(bytes))?.headers.host).toBe('evil.test')
      expect(readFlight(bytes, 1 << 20).kind).not.toBe('opaque')
    }
  })
})

describe('the options of the command', () => {
  it('have defaults, and refuse other words', () => {
    expect(readProxyOptions(['--cases', '5', '--seed', '7'])).toEqual({ cases: 5, seed: 7 })
    expect(readProxyOptions([])).toMatchObject({ cases: 1_000_000 })
    for (const argv of [['--cases', 'x'], ['--seed', '-1'], ['--minutes', '1'], ['x']])
      expect(readProxyOptions(argv)).toBeNull()
  })
})
