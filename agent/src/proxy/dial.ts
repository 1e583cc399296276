import { canonicalAddress } from '@palisade/policy-core'
import { once } from 'node:events'
import { connect, isIPv6, type Socket } from 'node:net'

/** A connected socket to exactly `address`; rejects when none comes about. */
export type Dial = (address: string, port: number, signal: AbortSignal) => Promise<Socket>

export function createDial(timeoutMs: number): Dial {
  return async (address, port, signal) => {
    const socket = connect({
      host: address,
      port,
      family: isIPv6(address) ? 6 : 4,
      allowHalfOpen: true,
      noDelay: true,
      // An address needs no lookup; should one be made all the same, it fails.
      lookup: (_name, _options, answer) => answer(new Error('an address was looked up'), ''),
    })
    try {
      await once(socket, 'connect', {
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      })
      // `0.0.0.0` and `::` lead to loopback: where the socket went is what must have been judged.
      const peer = canonicalAddress(socket.remoteAddress ?? '')
      if (peer !== address) throw new Error(`the connection went to ${peer}, not to ${address}`)
      // Until its new owner listens, an error must not be nobody's.
      socket.on('error', () => socket.destroy())
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }
}
