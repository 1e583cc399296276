import dnsPacket, { type DecodedPacket, type Question } from 'dns-packet'
import { createSocket } from 'node:dgram'

/** A name server on 127.0.0.1 that counts the questions it receives. */
export interface NameServer {
  /** `ip:port` */
  readonly address: string
  /** How often the name was asked for, in any letter case. */
  queries(name: string): number
  close(): Promise<void>
}

/** IPv4 addresses by name; any other name does not exist. */
export type Zone = Readonly<Record<string, string>>

export async function startDnsServer(zone: Zone): Promise<NameServer> {
  const socket = createSocket('udp4')
  const counts = new Map<string, number>()
  socket.on('message', (message, from) => {
    const query = decode(message)
    const question = query?.questions?.[0]
    if (query === null || question === undefined) return
    const name = question.name.toLowerCase()
    counts.set(name, (counts.get(name) ?? 0) + 1)
    socket.send(answer(query, question, zone[name]), from.port, from.address)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(0, '127.0.0.1', () => resolve())
  })
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries: (name) => counts.get(name.toLowerCase()) ?? 0,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

function decode(message: Buffer): DecodedPacket | null {
  try {
    return dnsPacket.decode(message)
  } catch {
    return null
  }
}

function answer(query: DecodedPacket, question: Question, address: string | undefined): Buffer {
  const has = address !== undefined && question.type === 'A'
  const nameError = address === undefined ? 3 : 0
  return dnsPacket.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: dnsPacket.AUTHORITATIVE_ANSWER | nameError,
    questions: [question],
    answers: has ? [{ type: 'A', name: question.name, ttl: 0, data: address }] : [],
  })
}
