import type { Socket as DatagramSocket } from 'node:dgram'
import type { Server, Socket } from 'node:net'
import type {
  ClientEndpoint,
  ReadClientEndpoint,
} from '../../../host/process-lookup/client-endpoint.ts'
import { sendDatagram } from '../../../proxy/udp/udp-sockets.ts'
import type { Reply } from './answer-query.ts'
import { MAX_QUERY_BYTES } from './query.ts'

/** Returns the reply to a query of a program. */
export type Answer = (packet: Buffer, program: ClientEndpoint | null) => Reply

/** A program that is silent for this long, or does not read its replies, is disconnected. */
const IDLE_MS = 10_000
const MAX_CONNECTIONS = 64
const MAX_UNREAD_BYTES = 65_536
const EMPTY: Buffer = Buffer.alloc(0)

/** Answers queries in datagrams. */
export function serveDatagrams(socket: DatagramSocket, answer: Answer, holderPid: number): void {
  // An error of one receiver concerns no other one.
  socket.on('error', () => {})
  socket.on('message', (packet, { address, port }) => {
    const reply = answer(packet, { address, port, within: { pid: holderPid } })
    const send = (bytes: Buffer): void => sendDatagram(socket, [bytes], port, address)
    if (reply instanceof Promise) void reply.then(send)
    else if (reply !== null) send(reply)
  })
}

/** Answers queries over TCP, each after its length (RFC 1035 §4.2.2). Returns a way to end it. */
export function serveStreams(
  server: Server,
  answer: Answer,
  clientEndpoint: ReadClientEndpoint,
): () => void {
  const clients = new Set<Socket>()
  server.maxConnections = MAX_CONNECTIONS
  server.on('connection', (client: Socket) => {
    clients.add(client)
    client.once('close', () => clients.delete(client))
    const program = clientEndpoint(client)
    serveStream(client, (packet) => answer(packet, program))
  })
  return () => {
    server.close()
    for (const client of clients) client.destroy()
  }
}

function serveStream(client: Socket, answer: (packet: Buffer) => Reply): void {
  let received = EMPTY
  client.on('error', () => client.destroy())
  client.setTimeout(IDLE_MS, () => client.destroy())
  client.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    while (received.length >= 2) {
      const length = received.readUInt16BE(0)
      // A longer message is no query, and would have to be held until it is complete.
      if (length > MAX_QUERY_BYTES || client.writableLength > MAX_UNREAD_BYTES) {
        client.destroy()
        return
      }
      if (received.length < 2 + length) return
      const reply = answer(received.subarray(2, 2 + length))
      received = received.subarray(2 + length)
      if (reply === null) {
        client.destroy()
        return
      }
      // Replies may come in any order (RFC 7766 §6.2.1.1).
      const send = (bytes: Buffer): void => void (client.writable && client.write(frame(bytes)))
      if (reply instanceof Promise) void reply.then(send)
      else send(reply)
    }
  })
}

function frame(reply: Buffer): Buffer {
  const prefix = Buffer.alloc(2)
  prefix.writeUInt16BE(reply.length)
  return Buffer.concat([prefix, reply])
}
