import { createServer, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { Random } from '../../../bench/src/workload/random.ts'
import { readClientBytes } from '../../../agent/src/proxy/client-bytes.ts'
import { createFirstFlight } from '../../../agent/src/proxy/content/first-flight.ts'
import type { Flight } from '../../../agent/src/proxy/content/flight.ts'
import { parseHttpHead } from '../../../agent/src/proxy/content/http-head.ts'
import { readSocks } from '../../../agent/src/proxy/socks/read-socks.ts'
import { isSameTarget, parseAuthority } from '../../../agent/src/proxy/target/authority.ts'
import type { DrawnBytes } from './draw-bytes.ts'

/** Returns a sentence about the first broken law, or null. */
export type Check = (drawn: DrawnBytes, random: Random) => Promise<string | null> | string | null

/** The flight of bytes that arrive in pieces, then end. */
export function readFlight(bytes: Buffer, pieceBytes: number): Flight {
  const first = createFirstFlight()
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    const flight = first.read(bytes.subarray(start, start + pieceBytes))
    if (flight !== null) return flight
  }
  return first.end()
}

/** A flight is the same in one piece and in many, and a whole hello names its server. */
export const checkFlight: Check = ({ bytes, serverName }, random) => {
  const whole = readFlight(bytes, Math.max(bytes.length, 1))
  const split = readFlight(bytes, 1 + random.integer(7))
  if (JSON.stringify(whole) !== JSON.stringify(split))
    return `a flight depends on its pieces: ${JSON.stringify([whole, split])}`
  if (serverName === null) return null
  const expected = serverName === '' ? 'malformed' : 'tls'
  const isRight =
    whole.kind === expected && (whole.kind !== 'tls' || whole.serverName === serverName)
  return isRight ? null : `a hello for \`${serverName}\` was read as ${JSON.stringify(whole)}`
}

/**
 * Node's parser reads a request from the bytes: then they are a request to the proxy too, the same
 * one, or are refused.
 */
export const checkHead: Check = async ({ kind, bytes }) => {
  if (kind !== 'http') return null
  const request = await readByNode(bytes)
  // A further proxy is a server like any other, so CONNECT is carried whatever it names.
  if (request === null || request.method === 'CONNECT') return null
  const flight = readFlight(bytes, Math.max(bytes.length, 1))
  if (flight.kind === 'opaque' && request.rawHeaders.some((each) => /^host$/i.test(each)))
    return `Node reads a \`Host\` in bytes of another protocol`
  if (flight.kind !== 'http') return null
  const { head } = flight
  const theirs = [request.method, request.url, request.rawHeaders]
  const same =
    JSON.stringify([head.method, head.target, head.rawHeaders]) === JSON.stringify(theirs)
  return same ? null : `Node reads ${JSON.stringify(theirs)}, not ${JSON.stringify(head)}`
}

/** A head is parsed alike with other bytes behind it, and never with a line break in a part. */
export const checkParts: Check = ({ bytes }) => {
  const head = parseHttpHead(bytes.toString('latin1'))
  if (head === null) return null
  const parts = [head.method, head.target, ...head.rawHeaders]
  return parts.some((part) => /[\r\n\0]/.test(part)) ? 'a part of a head has a line break' : null
}

/** A frame gives no target, or one that its own text names. */
export const checkSocks: Check = async ({ kind, bytes }) => {
  if (kind !== 'socks5' || bytes[0] !== 5) return null
  const socket = openFake(bytes)
  const request = await readSocks(readClientBytes(socket, 60_000))
  if (request === null || request.protocol === 'socks5_udp') return null
  const { target } = request
  const methods = 2 + (bytes[1] ?? 0)
  const [version, command, reserved, type, ...rest] = bytes.subarray(methods)
  if (version !== 5 || command !== 1 || reserved !== 0) return 'a wrong frame has a target'
  const text = Buffer.from(rest.slice(1, 1 + (rest[0] ?? 0))).toString('latin1')
  const named = type === 3 ? parseAuthority(text, target.port) : target
  return named !== null && isSameTarget(named, target)
    ? null
    : `a frame for \`${text}\` has the target ${JSON.stringify(target)}`
}

function openFake(bytes: Buffer): Socket {
  const fake = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  fake.push(bytes)
  fake.push(null)
  return fake as unknown as Socket
}

/** The first request that `node:http` reads from the bytes, or null. */
export function readByNode(bytes: Buffer): Promise<IncomingMessage | null> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | null>()
  const server = createServer({ requireHostHeader: false }, (request) => resolve(request))
  for (const event of ['connect', 'upgrade', 'checkContinue', 'checkExpectation'])
    server.on(event, (request: IncomingMessage) => resolve(request))
  server.on('clientError', () => resolve(null))
  const socket = openFake(bytes)
  socket.once('close', () => resolve(null)).once('end', () => setImmediate(() => resolve(null)))
  Object.assign(socket, {
    setTimeout: () => socket,
    setNoDelay: () => socket,
    setKeepAlive: () => socket,
  })
  server.emit('connection', socket)
  return promise.finally(() => {
    socket.destroy()
    server.removeAllListeners()
    server.close()
  })
}
