import type { Socket } from 'node:net'
import { createFirstFlight } from '../content/first-flight.ts'
import type { Flight } from '../content/flight.ts'

/** Time for bytes that have to wait for others. */
const FLIGHT_TIMEOUT_MS = 5_000

export interface FlightListener {
  /** Called with bytes that need not wait for the flight. */
  onHarmless(bytes: Buffer): void
  /** Called once, with the bytes not passed on so far; the client is paused. */
  onFlight(flight: Flight, held: Buffer): void
}

/**
 * Reads a program's bytes until they can be classified. A program may be silent for any time, as
 * long as none of its bytes wait.
 */
export function awaitFirstFlight(client: Socket, { onHarmless, onFlight }: FlightListener): void {
  const first = createFirstFlight()
  let passed = 0
  let timer: NodeJS.Timeout | null = null

  const stopTimer = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
  }
  const settle = (flight: Flight): void => {
    stopTimer()
    client.off('data', take).off('end', end).off('close', stopTimer)
    client.pause()
    onFlight(flight, first.held().subarray(passed))
  }
  const take = (chunk: Buffer): void => {
    const flight = first.read(chunk)
    if (flight !== null) return settle(flight)
    const harmless = first.harmless()
    if (harmless.length > passed) {
      onHarmless(harmless.subarray(passed))
      passed = harmless.length
    }
    if (first.held().length === passed) stopTimer()
    else timer ??= setTimeout(() => settle({ kind: 'incomplete' }), FLIGHT_TIMEOUT_MS)
  }
  const end = (): void => settle(first.end())
  client.on('data', take).once('end', end).once('close', stopTimer).resume()
  if (client.readableEnded) end()
}
