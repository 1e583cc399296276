import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { PointProtocol } from '../../../../agent/src/enforcement/enforcement-event.ts'
import { readClientBytes, type ClientBytes } from '../../../../agent/src/proxy/client-bytes.ts'
import { formatBound, formatReply, REPLY } from '../../../../agent/src/proxy/socks/frames.ts'
import { parseAuthority, type Target } from '../../../../agent/src/proxy/target/authority.ts'
import { formatFrame, readDatagram } from '../../../../agent/src/proxy/udp/datagram.ts'
import { startTcpServer } from '../../fixture/proxy.ts'
import { GREETING } from '../../fixture/socks.ts'

/** `ends` is for datagrams: the association ends with the first of them. */
export type Fault = 'allows' | 'refuses' | 'lies' | 'ends'

const DENIAL = 'HTTP/1.1 403 Forbidden\r\nPalisade-Decision: deny; reason=rule\r\n\r\n'
const ANSWER = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nother'

/** One connection in the dialect that is faulty. */
interface Asked {
  readonly client: Socket
  readonly target: Target
  readonly grant: Buffer
  readonly denial: Buffer
  /** For the target, before further bytes of the program. */
  readonly head: Buffer
}

/** A proxy in front of the one at `port` that has a fault in one dialect. Returns its port. */
export function startFaultyProxy(
  port: number,
  protocol: PointProtocol,
  fault: Fault,
): Promise<number> {
  return startTcpServer((client) => {
    serve(client, port, protocol, fault).catch(() => client.destroy())
  })
}

async function serve(client: Socket, port: number, faulty: PointProtocol, fault: Fault) {
  const bytes = readClientBytes(client, 60_000)
  const [first] = await bytes.peek(1)
  if (first === 5) return serveSocks(client, bytes, port, faulty, fault)
  const head = await bytes.takeUntil('\r\n\r\n', 65_536)
  const text = head.toString()
  bytes.release()
  const [, method, url = '', path] = /^(\S+) (?:http:\/\/)?([^/ ]+)(\S*) /.exec(text) ?? []
  const isTunnel = method === 'CONNECT'
  if (faulty !== (isTunnel ? 'connect' : 'http')) return join(client, port, Buffer.from(text))
  const target = parseAuthority(url, 80)
  if (target === null) throw new Error('no target')
  const request = `GET ${path} HTTP/1.1\r\nHost: ${url}\r\nConnection: close\r\n\r\n`
  return misbehave(fault, {
    client,
    target,
    grant: Buffer.from(isTunnel ? 'HTTP/1.1 200 OK\r\n\r\n' : ''),
    denial: Buffer.from(DENIAL),
    head: Buffer.from(isTunnel ? '' : request),
  })
}

async function serveSocks(
  client: Socket,
  bytes: ClientBytes,
  port: number,
  faulty: PointProtocol,
  fault: Fault,
) {
  await bytes.take(GREETING.length)
  bytes.write(Buffer.from([5, 0]))
  const start = (await bytes.take(5)) ?? Buffer.alloc(5)
  const isName = start[3] === 3
  const rest = (await bytes.take((isName ? (start[4] ?? 0) : 3) + 2)) ?? Buffer.alloc(2)
  bytes.release()
  const isAssociation = start[1] === 3
  if (faulty !== (isAssociation ? 'socks5_udp' : 'socks5')) {
    const head = Buffer.concat([GREETING, start, rest])
    return join(client, port, head, 2)
  }
  const denial = formatReply(REPLY.denied)
  if (isAssociation) return fault === 'refuses' ? client.end(denial) : relayDatagrams(client, fault)
  const target = {
    host: rest.toString('latin1', 0, rest.length - 2),
    port: rest.readUInt16BE(rest.length - 2),
  }
  const grant = formatReply(REPLY.succeeded)
  return misbehave(fault, { client, target, grant, denial, head: Buffer.alloc(0) })
}

async function misbehave(fault: Fault, { client, target, grant, denial, head }: Asked) {
  const isRefused = fault === 'refuses' || (fault === 'lies' && target.host.includes('.denied.'))
  if (isRefused) return void client.end(denial)
  client.write(grant)
  if (fault === 'allows') return join(client, target.port, head)
  client.end(ANSWER)
}

/** Joins the program with a local port, whose first `skipped` bytes it does not get. */
async function join(client: Socket, port: number, head: Buffer, skipped = 0) {
  const upstream = connect({ port, host: '127.0.0.1' })
  upstream.on('error', () => client.destroy())
  onTestFinished(() => void upstream.destroy())
  await once(upstream, 'connect')
  upstream.write(head)
  client.pipe(upstream)
  let left = skipped
  upstream.on('data', (chunk: Buffer) => {
    client.write(chunk.subarray(Math.min(left, chunk.length)))
    left = Math.max(left - chunk.length, 0)
  })
  upstream.on('end', () => client.end())
}

async function relayDatagrams(client: Socket, fault: Fault) {
  const socket = createSocket('udp4')
  let programPort = 0
  socket.on('message', (message, { address, port }) => {
    const datagram = readDatagram(message)
    if (datagram === null) {
      socket.send([formatFrame(address, port), message], programPort, '127.0.0.1')
      return
    }
    programPort = port
    const { target, payload } = datagram
    if (fault === 'ends') client.end()
    else if (fault === 'allows') socket.send(payload, target.port, '127.0.0.1')
    else socket.send([formatFrame('127.0.0.1', target.port), 'other'], port, '127.0.0.1')
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  client.on('end', () => client.end()).resume()
  client.write(formatBound('127.0.0.1', socket.address().port))
}
