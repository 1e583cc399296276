import { canonicalAddress } from '@palisade/policy-core'
import { isIPv6, type Socket } from 'node:net'
import { TargetSocket } from './target-socket.ts'

/** Connects to exactly `address`; rejects when that fails. */
export type Dial = (address: string, port: number, signal: AbortSignal) => Promise<Socket>

export function createDial(timeoutMs: number): Dial {
  return (address, port, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    const socket = new TargetSocket({ allowHalfOpen: true }).setNoDelay(true).connect({
      host: address,
      port,
      family: isIPv6(address) ? 6 : 4,
      // An address needs no lookup; an unexpected one fails.
      lookup: (_name, _options, answer) => answer(new Error('an address was looked up'), ''),
    })
    const fail = (error: Error): void => {
      settle()
      socket.destroy()
      reject(error)
    }
    const onConnect = (): void => {
      // `0.0.0.0` and `::` lead to loopback: the address reached must be the one that was decided.
      const peer = socket.remoteAddress ?? ''
      if (peer !== address && canonicalAddress(peer) !== address)
        return fail(new Error(`the connection went to ${peer}, not to ${address}`))
      settle()
      // Handles errors until the new owner of the socket listens.
      socket.on('error', () => socket.destroy())
      resolve(socket)
    }
    const cancel = (): void => fail(new Error('the dial was cancelled'))
    const timer = setTimeout(() => fail(new Error('the dial took too long')), timeoutMs)
    // Plain listeners: a composed signal with a timeout costs more than the rest.
    // bench: tunnels/new
    const settle = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
      socket.off('connect', onConnect).off('error', fail)
    }
    socket.once('connect', onConnect).once('error', fail)
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel)
    return promise
  }
}
