import type { Socket } from 'node:dgram'
import type { FlowEnd } from '../../enforcement/enforcement-event.ts'
import type { Slot } from '../admission/live-connections.ts'
import { sendDatagram } from './udp-sockets.ts'

/** Datagrams between one program and one decided address. */
export interface UdpFlow {
  /** Canonical. */
  readonly address: string
  readonly port: number
  send(payload: Buffer): void
  noteReply(payload: Buffer): void
  /** Idempotent. */
  end(cause: FlowEnd['cause']): void
}

/** Without traffic for `idleMs`, a flow ends by itself. `onEnd` is called once. */
export function createUdpFlow(deps: {
  readonly address: string
  readonly port: number
  readonly socket: Socket
  readonly slot: Slot
  readonly idleMs: number
  readonly onEnd: (flow: FlowEnd) => void
}): UdpFlow {
  const { address, port, socket, slot, onEnd } = deps
  const startedMs = performance.now()
  let [bytesSent, bytesReceived] = [0, 0]
  let isOver = false

  const end = (cause: FlowEnd['cause']): void => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    slot.leave()
    const durationMs = Math.round(performance.now() - startedMs)
    onEnd({ bytesSent, bytesReceived, durationMs, cause })
  }
  const timer = setTimeout(() => end('idle'), deps.idleMs).unref()

  return {
    address,
    port,
    send(payload) {
      if (isOver) return
      timer.refresh()
      bytesSent += payload.length
      sendDatagram(socket, [payload], port, address)
    },
    noteReply(payload) {
      timer.refresh()
      bytesReceived += payload.length
    },
    end,
  }
}
