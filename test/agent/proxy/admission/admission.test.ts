import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, Socket, type AddressInfo } from 'node:net'
import { setImmediate as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAdmission } from '../../../../agent/src/proxy/admission/admission.ts'
import { createClientOwners } from '../../../../agent/src/host/process-lookup/client-owners.ts'
import { readClientEndpoint } from '../../../../agent/src/host/process-lookup/client-endpoint.ts'
import { createLiveConnections } from '../../../../agent/src/proxy/admission/live-connections.ts'
import {
  createFindOwners,
  type FindOwners,
  type Owner,
} from '../../../../agent/src/host/process-lookup/socket-owners.ts'
import { readTcpTables } from '../../../../agent/src/host/process-lookup/tcp-table.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf } from '../../fixture/bundle.ts'
import { holdTimers } from '../../fixture/held-timers.ts'
import {
  connectTo,
  get,
  openRaw,
  readAll,
  readUntil,
  startProxy,
  startTcpServer,
} from '../../fixture/proxy.ts'

const LOCAL = bundleOf(['allow', 'connect:tcp', '127.0.0.1'])

const ownSession = (n: number): Owner => ({ process: `${n}`, fairnessKey: `session ${n}` })

/** Counts how many of 1,024 slots connections keep that ask one after the other. */
async function countSlots(
  ownerOf: (index: number) => Owner | null,
  connections = 1_100,
): Promise<number> {
  const live = createLiveConnections(activePolicy().active.decide, 1_024)
  const clients = Array.from({ length: connections }, () => new Socket())
  const indexes = new Map(clients.map((client, index) => [client, index]))
  const owners = new Map<Socket, Owner | null>()
  const find = (client: Socket): Owner | null => {
    if (!owners.has(client)) owners.set(client, ownerOf(indexes.get(client) ?? 0))
    return owners.get(client) ?? null
  }
  const admission = createAdmission(live, {
    ownerOf: async (client) => {
      // Like a scan, finds the owners of all connections that hold a slot.
      if (owners.size === 0) for (const other of live.clients()) find(other)
      return find(client)
    },
    known: (client) => owners.get(client) ?? null,
  })
  for (const client of clients) {
    const slot = await admission.enterEarly(client)
    client.once('close', () => slot?.leave())
    await pause()
  }
  return live.size()
}

describe('the slots of the proxy', () => {
  it.each([
    ['a process', 256, () => ({ process: '1', fairnessKey: 'session 1' })],
    [
      'a session of many processes',
      896,
      (n: number) => ({ process: `${n}`, fairnessKey: 'session 1' }),
    ],
    ['another user', 896, () => ({ process: null, fairnessKey: 'user 7' })],
    ['processes in sessions of their own', 1_024, ownSession],
    ['owners that are not visible', 1_024, () => null],
  ])('are shared: %s gets %d', async (_, expected, ownerOf) => {
    expect(await countSlots(ownerOf)).toBe(expected)
  })

  it('leave one for a process without any, beside a crowd in one session', async () => {
    const crowd = (n: number) => ({ process: `${n}`, fairnessKey: 'session 1' })

    const slots = await countSlots((n) => (n < 1_000 ? crowd(n) : ownSession(n)), 1_001)

    expect(slots).toBe(897)
  })

  it('are free again when a process returns its own', async () => {
    const target = await startTcpServer((socket) => socket.resume().on('end', () => socket.end()))
    const { port, live } = await startProxy(LOCAL, {}, 4)
    const open = (): Promise<Socket> => openRaw(port, connectTo(`127.0.0.1:${target}`))
    const first = await open()
    await readUntil(first, '200')
    const second = await open()
    await once(second.resume(), 'end')
    await expect.poll(() => live.size()).toBe(1)

    first.destroy()
    await expect.poll(() => live.size()).toBe(0)

    expect(await readUntil(await open(), '\r\n\r\n')).toContain('HTTP/1.1 200 ')
  })

  it('are given before the owners are known to one connection for four free slots', async () => {
    const live = createLiveConnections(activePolicy().active.decide, 1_024)
    const found = Promise.withResolvers<void>()
    const owner = { process: '1', fairnessKey: 'session 1' }
    let isKnown = false
    const admission = createAdmission(live, {
      async ownerOf() {
        await found.promise
        isKnown = true
        return owner
      },
      known: () => (isKnown ? owner : null),
    })
    const open = async (count: number): Promise<readonly Socket[]> => {
      const clients = Array.from({ length: count }, () => new Socket())
      for (const client of clients) {
        const slot = await admission.enterEarly(client)
        client.once('close', () => slot?.leave())
      }
      return clients
    }
    const ended = await open(256)

    const early = await open(153)
    let isLate = false
    const late = open(1).then(() => (isLate = true))
    await pause()
    expect([live.size(), isLate]).toEqual([409, false])
    found.resolve()
    await late

    await expect.poll(() => live.size()).toBe(256)
    expect(ended.some(({ destroyed }) => destroyed)).toBe(false)
    expect(early.every(({ destroyed }) => destroyed)).toBe(true)
  })

  it('are given without a search for owners while less than a quarter is taken', async () => {
    const asked: number[] = []
    const ownerOf = (n: number): Owner => {
      asked.push(n)
      return ownSession(n)
    }

    await countSlots(ownerOf, 256)
    expect(asked).toEqual([])
    await countSlots(ownerOf, 257)
    expect(asked).toHaveLength(257)
  })
})

describe('connections without a request', () => {
  it('do not lock out others, nor end one that is in use', async () => {
    const target = await startTcpServer((socket) => socket.pipe(socket))
    const { port } = await startProxy(LOCAL)
    const used = await openRaw(port, connectTo(`127.0.0.1:${target}`))
    await readUntil(used, '\r\n\r\n')

    for (let index = 0; index < 250; index += 1) await openRaw(port, 'GET')
    const late = await openRaw(port, connectTo(`127.0.0.1:${target}`))

    expect(await readUntil(late, '\r\n\r\n')).toContain('HTTP/1.1 200 ')
    used.write('still here')
    expect(await readUntil(used, 'here')).toBe('still here')
  })
})

describe('one connection', () => {
  it('opens one upstream connection at a time for all requests that it sends at once', async () => {
    const held: Socket[] = []
    const target = await startTcpServer((socket) => {
      held.push(socket)
      socket.on('data', () => {})
    })
    const { port, live } = await startProxy(LOCAL)
    const one = `GET http://127.0.0.1:${target}/ HTTP/1.1\r\nHost: 127.0.0.1:${target}\r\n\r\n`

    const client = await openRaw(port, one.repeat(500))
    await expect.poll(() => held.length).toBe(1)
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
    held[0]?.end(answer)
    await readUntil(client, 'ok')
    await expect.poll(() => held.length).toBe(2)

    expect(live.size()).toBe(1)
  })

  it('gets all its answers in order', async () => {
    const target = await startTcpServer((socket) =>
      socket.once('data', (data) => {
        const path = /GET (\S+)/.exec(data.toString())?.[1] ?? ''
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`)
      }),
    )
    const { port } = await startProxy(LOCAL)
    const authority = `127.0.0.1:${target}`
    const requests = Array.from(
      { length: 100 },
      (_, index) => `GET http://${authority}/${index} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
    )

    const client = await openRaw(port, requests.join(''))
    const text = await readUntil(client, '\r\n\r\n/99')

    const paths = [...text.matchAll(/\r\n\r\n(\/\d+)/g)].map(([, path]) => path)
    expect(paths).toEqual(Array.from({ length: 100 }, (_, index) => `/${index}`))
  })

  it('is not read further after a refusal, which ends it', async () => {
    const { port, decisions } = await startProxy(LOCAL)
    const denied = 'GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n'

    const client = await openRaw(port, denied.repeat(100))
    const text = await readAll(client)

    expect(text.match(/HTTP\/1\.1 403/g)).toHaveLength(1)
    expect(decisions).toHaveLength(1)
  })
})

describe('a request body', () => {
  const post = (authority: string): string =>
    `POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: 100000\r\n\r\n`

  it('that comes too slowly ends with 408 and frees its slot', async () => {
    const target = await startTcpServer((socket) => socket.resume())
    const bodyRate = { bytes: 1_000, windowMs: 200 }
    const { port, live } = await startProxy(LOCAL, {}, 10, { bodyRate })
    const client = await openRaw(port, post(`127.0.0.1:${target}`))
    const drip = setInterval(() => client.write('x'), 20)
    onTestFinished(() => clearInterval(drip))

    const text = await readUntil(client, '\r\n\r\n')

    expect(text).toContain('HTTP/1.1 408 Palisade: the request body is too slow')
    await expect.poll(() => live.size()).toBe(0)
  })

  it('may wait while the origin does not take it', async () => {
    const target = await startTcpServer((socket) => socket.pause())
    const bodyRate = { bytes: 1_000, windowMs: 50 }
    const { port, live } = await startProxy(LOCAL, {}, 10, { bodyRate })
    const length = 50_000_000
    const authority = `127.0.0.1:${target}`
    const client = await openRaw(port, post(authority).replace('100000', String(length)))
    client.write(Buffer.alloc(length))

    let answered = false
    client.once('data', () => (answered = true))
    await new Promise((resolve) => setTimeout(resolve, 500))

    expect(answered).toBe(false)
    expect(live.size()).toBe(1)
  })

  it('that is complete is not too slow while the origin works', async () => {
    const target = await startTcpServer((socket) => {
      socket.resume()
      setTimeout(() => socket.end('HTTP/1.1 204 No Content\r\n\r\n'), 300)
    })
    const bodyRate = { bytes: 1_000, windowMs: 50 }
    const { port } = await startProxy(LOCAL, {}, 10, { bodyRate })
    const request = post(`127.0.0.1:${target}`).replace('100000', '5')
    const client = await openRaw(port, `${request}hello`)

    expect(await readUntil(client, '\r\n\r\n')).toContain('HTTP/1.1 204 ')
  })
})

describe('a client that ends its side after its request', () => {
  it('still gets its answer', async () => {
    const target = await startTcpServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')),
    )
    const { port, live } = await startProxy(LOCAL)
    const authority = `127.0.0.1:${target}`
    const client = await openRaw(port, '')

    client.end(`GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)

    expect(await readUntil(client, 'ok')).toContain('HTTP/1.1 200 OK')
    await once(client, 'end')
    await expect.poll(() => live.size()).toBe(0)
  })

  it('still gets its refusal', async () => {
    const { port } = await startProxy(LOCAL)
    const client = await openRaw(port, '')

    client.end(get('denied.test'))

    expect(await readUntil(client, '\r\n\r\n')).toContain('HTTP/1.1 403 Palisade: denied.test:80')
  })

  it('is closed when it has sent no request', async () => {
    const { port } = await startProxy(LOCAL)
    holdTimers()
    const client = await openRaw(port, '')
    await expect.poll(() => vi.getTimerCount()).toBe(1)

    vi.advanceTimersByTime(8_000)

    expect(await readAll(client)).toBe('')
  })
})

describe('the owner of a connection', () => {
  const LOOPBACK = '127.0.0.1'

  /** Connects to a server at `address` that never ends its own side. */
  async function connectFrom(
    port: number,
    address = LOOPBACK,
    from: { localAddress?: string; localPort?: number } = {},
  ): Promise<{ port: number; client: Socket }> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(port, address)
    await once(server, 'listening')
    const bound = server.address() as AddressInfo
    const client = connect({ port: bound.port, host: address, ...from })
    const [served] = await Promise.all([once(server, 'connection'), once(client, 'connect')])
    onTestFinished(() => {
      client.destroy()
      ;(served[0] as Socket).destroy()
      server.close()
    })
    return { port: bound.port, client }
  }

  const findOwners = (port: number, ...ports: number[]): ReturnType<FindOwners> =>
    createFindOwners(() => ({ address: LOOPBACK, port }))(
      ports.map((clientPort) => ({ address: LOOPBACK, port: clientPort })),
    )

  const [, , , session] = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? []
  const ourselves = { process: `${process.pid}`, fairnessKey: `session ${session}` }

  it('is the process that made it, with its session', async () => {
    const { port, client } = await connectFrom(0)

    expect(await findOwners(port, client.localPort ?? 0)).toEqual([ourselves])
  })

  it('is unknown once the connection is closed or reset', async () => {
    const closed = await connectFrom(0)
    const reset = await connectFrom(0)
    const ports = [closed.client.localPort ?? 0, reset.client.localPort ?? 0] as const
    closed.client.destroy()
    reset.client.resetAndDestroy()
    await Promise.all([closed, reset].map(({ client }) => once(client, 'close')))

    expect(await findOwners(closed.port, ports[0])).toEqual(['closed'])
    expect(await findOwners(reset.port, ports[1])).toEqual(['closed'])
  })

  it('is still the process that has ended only its own side', async () => {
    const { port, client } = await connectFrom(0)
    client.end()
    await once(client, 'finish')

    expect(await findOwners(port, client.localPort ?? 0)).toEqual([ourselves])
  })

  it('is found by addresses when others use the same ports', () => {
    const line = (from: string, to: string, inode: string): string =>
      `   0: ${from} ${to} 01 00000000:00000000 00:00000000 00000000  ` +
      `1000        0 ${inode} 1 0000 20 4 30 10 -1`
    const proxy = { address: LOOPBACK, port: 8421 }
    const client = { address: LOOPBACK, port: 40_000 }
    const find = readTcpTables(
      [
        [
          '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   ' +
            'uid  timeout inode',
          line('0100007F:9C40', '0100007F:20E5', '4711'),
          line('0200007F:9C40', '0100007F:20E5', '4712'),
          line('0100007F:9C40', '0900007F:20E5', '4713'),
          line('0100007F:9C41', '0100007F:20E6', '4714'),
        ].join('\n'),
        line(
          '0000000000000000FFFF00000100007F:9C42',
          '0000000000000000FFFF00000100007F:20E5',
          '4715',
        ),
      ],
      proxy,
    )

    expect(find(client, proxy)).toEqual({ uid: '1000', inode: '4711', isEstablished: true })
    expect(find({ ...client, port: 40_002 }, proxy)?.inode).toBe('4715')
    expect(find({ ...client, port: 40_001 }, proxy)).toBeNull()
    expect(find(proxy, client)).toBeNull()
  })
})

describe('a connection that its process has closed', () => {
  it('is ended when the owner of another connection is looked up', async () => {
    const [gone, other] = [new Socket(), new Socket()]
    const owners = createClientOwners(
      () => [gone, other],
      async () => ['closed', ownSession(1)],
      readClientEndpoint,
    )

    expect(await owners.ownerOf(other)).toEqual(ownSession(1))
    expect([gone.destroyed, other.destroyed]).toEqual([true, false])
  })
})
