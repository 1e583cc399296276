import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { ClientBytes } from '../../proxy/client-bytes.ts'
import { ADDRESS_TYPE, readTarget, REPLY } from '../../proxy/socks/frames.ts'
import type { Target } from '../../proxy/target/authority.ts'
import { readDatagram } from '../../proxy/udp/datagram.ts'
import { CANARY_ADDRESS } from './canaries.ts'
import {
  converse,
  FOREIGN_ANSWER,
  overStreams,
  readRest,
  type Dialect,
  type ProbeScene,
} from './dialect.ts'
import { formatRequest } from './http-dialects.ts'

const GREETING = Buffer.from([5, 1, 0])
const CONNECT = 1
const UDP_ASSOCIATE = 3
/** The end of a program that does not know its port yet. */
const UNKNOWN_END = Buffer.from([ADDRESS_TYPE.ipv4, 0, 0, 0, 0, 0, 0])
/** A datagram may get lost even on one machine. */
const RESEND_MS = 500

/** Opens a tunnel by SOCKS5, and sends a request for the target through it. */
export const probeSocks: Dialect = overStreams((question) =>
  converse(question, async (proxy) => {
    const reply = await askSocks(proxy, CONNECT, formatName(question.host, question.port))
    if (reply?.code === REPLY.denied) return { kind: 'denied' }
    if (reply?.code !== REPLY.succeeded) return { kind: 'failed', detail: describeReply(reply) }
    proxy.write(formatRequest(`/${question.text}`, `${question.host}:${question.port}`))
    return { kind: 'answered', answer: await readRest(proxy) }
  }),
)

/**
 * Sends a datagram to both canaries. A denied datagram gets no answer, so the refused one goes
 * first, and the server of the canaries tells whether it arrived.
 */
export const probeDatagrams: Dialect = (scene) =>
  converse(scene, async (proxy) => {
    const reply = await askSocks(proxy, UDP_ASSOCIATE, UNKNOWN_END)
    if (!scene.carriesDatagrams)
      return reply?.code === REPLY.unknownCommand
        ? null
        : `datagrams were not refused beside the parent proxy: ${describeReply(reply)}`
    if (reply?.code !== REPLY.succeeded || reply.end === null)
      return `there is no association: ${describeReply(reply)}`
    const socket = createSocket('udp4')
    socket.on('error', () => {})
    try {
      socket.bind(0, CANARY_ADDRESS)
      await once(socket, 'listening')
      const frame = await exchangeDatagrams(scene, socket, reply.end, proxy)
      if (frame === null) return 'the allowed canary did not pass: no datagram came back'
      return isAnswer(frame, scene) ? null : FOREIGN_ANSWER
    } finally {
      socket.close()
    }
  })

/** The first frame from `relay`; null when the association ends, or the time is over. */
async function exchangeDatagrams(
  { canary, texts }: ProbeScene,
  socket: Socket,
  relay: Target,
  proxy: ClientBytes,
): Promise<Buffer | null> {
  const { promise, resolve } = Promise.withResolvers<Buffer>()
  socket.on('message', (frame, { address, port }) => {
    if (address === relay.host && port === relay.port) resolve(frame)
  })
  const send = (): void => {
    for (const which of ['refused', 'allowed'] as const) {
      const end = formatName(canary[which], canary.ports['connect:udp'])
      const frame = [Buffer.from([0, 0, 0]), end, Buffer.from(texts[which])]
      socket.send(frame, relay.port, relay.host, () => {})
    }
  }
  const resending = setInterval(send, RESEND_MS)
  send()
  try {
    return await Promise.race([promise, proxy.peek(1).then(() => null)])
  } finally {
    clearInterval(resending)
  }
}

function isAnswer(frame: Buffer, { canary, texts }: ProbeScene): boolean {
  const datagram = readDatagram(frame)
  return (
    datagram?.target.host === CANARY_ADDRESS &&
    datagram.target.port === canary.ports['connect:udp'] &&
    datagram.payload.toString('latin1') === texts.answer
  )
}

interface SocksReply {
  readonly code: number
  /** The bound IPv4 end; null for port 0. */
  readonly end: Target | null
}

/** Negotiates and asks. Returns null for an answer that is not SOCKS5. */
async function askSocks(
  proxy: ClientBytes,
  command: number,
  end: Buffer,
): Promise<SocksReply | null> {
  proxy.write(GREETING)
  const method = await proxy.take(2)
  if (method?.equals(Buffer.from([5, 0])) !== true) return null
  proxy.write(Buffer.concat([Buffer.from([5, command, 0]), end]))
  const reply = await proxy.take(10)
  const [version, code, reserved, type] = reply ?? []
  if (reply === null || version !== 5 || reserved !== 0 || type !== ADDRESS_TYPE.ipv4) return null
  return { code: code ?? 0xff, end: readTarget(type, reply.subarray(4, 8), reply.readUInt16BE(8)) }
}

/** `ATYP`, `DST.ADDR` and `DST.PORT` of a name (RFC 1928 §4). */
function formatName(name: string, port: number): Buffer {
  const head = Buffer.from([ADDRESS_TYPE.name, name.length])
  return Buffer.concat([head, Buffer.from(name), Buffer.from([port >> 8, port & 0xff])])
}

function describeReply(reply: SocksReply | null): string {
  return reply === null ? 'no valid answer' : `reply ${reply.code}`
}
