import { canonicalAddress } from '@palisade/policy-core'
import { once } from 'node:events'
import { connect, isIPv6, type Socket } from 'node:net'

/** Connects to exactly `address`; rejects when that fails. */
export type Dial = (address: string, port: number, signal: AbortSignal) => Promise<Socket>

export function createDial(timeoutMs: number): Dial {
  return async (address, port, signal) => {
    const socket = connect({
      host: address,
      port,
      family: isIPv6(address) ? 6 : 4,
      allowHalfOpen: true,
      noDelay: true,
      // An address needs no lookup; an unexpected one fails.
      lookup: (_name, _options, answer) => answer(new Error('an address was looked up'), ''),
    })
    try {
      await once(socket, 'connect', {
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      })
      // `0.0.0.0` and `::` lead to loopback: the address reached must be the one that was decided.
      const peer = canonicalAddress(socket.remoteAddress ?? '')
      if (peer !== address) throw new Error(`the connection went to ${peer}, not to ${address}`)
      // Handles errors until the new owner of the socket listens.
      socket.on('error', () => socket.destroy())
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }
}
