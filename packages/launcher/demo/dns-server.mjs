import dnsPacket from 'dns-packet'
import { createSocket } from 'node:dgram'

/**
 * A name server on 127.0.0.1 that counts what it is asked.
 *
 * @typedef {object} NameServer
 * @property {string} address `ip:port`
 * @property {(name: string) => number} queries how often the name was asked for, in any letter case
 * @property {() => Promise<void>} close
 */

/**
 * @param {Readonly<Record<string, string>>} zone IPv4 addresses by name; any other name does not
 * exist
 * @returns {Promise<NameServer>}
 */
export async function startDnsServer(zone) {
  const socket = createSocket('udp4')
  const counts = /** @type {Map<string, number>} */ (new Map())
  socket.on('message', (message, from) => {
    const query = decode(message)
    const question = query?.questions?.[0]
    if (query === null || question === undefined) return
    const name = question.name.toLowerCase()
    counts.set(name, (counts.get(name) ?? 0) + 1)
    socket.send(answer(query, question, zone[name]), from.port, from.address)
  })
  await new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(0, '127.0.0.1', () => resolve(undefined))
  })
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries: (name) => counts.get(name.toLowerCase()) ?? 0,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

/**
 * @param {Buffer} message
 * @returns {import('dns-packet').DecodedPacket | null}
 */
function decode(message) {
  try {
    return dnsPacket.decode(message)
  } catch {
    return null
  }
}

/**
 * @param {import('dns-packet').DecodedPacket} query
 * @param {import('dns-packet').Question} question
 * @param {string | undefined} address
 */
function answer(query, question, address) {
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
