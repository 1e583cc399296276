import type { FastifyReply } from 'fastify'
import { ApiError } from '../../platform/api-error.ts'
import type { Answer } from '../answer.ts'
import { slicedBody } from './sliced-body.ts'

/** Two of the largest answers, and what else is being sent. */
const MAX_HELD_BYTES = 96 * 2 ** 20
/** The largest answer at 70 kB in a second. */
const SEND_WITHIN_MS = 10 * 60 * 1000

/**
 * What organizations hold in memory by answers that their readers have not taken yet. Readers of
 * one body share it; but whoever may change policies gets another with every revision, and may take
 * his time: measured, 24 readers of 11 MB held 280 MB.
 */
export interface AnswersBeingSent {
  /** Throws 429 while too much of the organization is being sent. */
  requireRoom(org: string): void
  /** Sends the answer, and cuts the connection of a client that needs ten minutes for it. */
  send(reply: FastifyReply, org: string, answer: Answer): FastifyReply
}

export function createAnswersBeingSent(
  limits = { heldBytes: MAX_HELD_BYTES, withinMs: SEND_WITHIN_MS },
): AnswersBeingSent {
  const held = new Map<string, Map<Buffer, number>>()

  function hold(org: string, body: Buffer): () => void {
    const bodies = held.get(org) ?? new Map<Buffer, number>()
    held.set(org, bodies)
    bodies.set(body, (bodies.get(body) ?? 0) + 1)
    return () => {
      const left = (bodies.get(body) ?? 1) - 1
      if (left > 0) return void bodies.set(body, left)
      bodies.delete(body)
      if (bodies.size === 0 && held.get(org) === bodies) held.delete(org)
    }
  }

  return {
    requireRoom(org) {
      let bytes = 0
      for (const body of held.get(org)?.keys() ?? []) bytes += body.byteLength
      if (bytes < limits.heldBytes) return
      throw new ApiError(
        429,
        'limit_exceeded',
        'too many large answers of the organization are being sent; wait and try again',
        { headers: { 'retry-after': '5' } },
      )
    },

    send(reply, org, { status, headers, body }) {
      reply.code(status).headers(headers)
      if (!Buffer.isBuffer(body)) return reply.send(body)
      whileSending(reply, limits.withinMs, hold(org, body))
      return reply.header('content-length', body.byteLength).send(slicedBody(body))
    },
  }
}

/** Calls `release` once, when the answer is sent or its connection is over. */
function whileSending({ raw, request }: FastifyReply, withinMs: number, release: () => void): void {
  const { socket } = request.raw
  const timer = setTimeout(() => socket.destroy(), withinMs)
  timer.unref()
  const end = (): void => {
    raw.off('close', end)
    // An answer that waits behind another one is not told that its connection is over.
    socket.off('close', end)
    clearTimeout(timer)
    release()
  }
  if (socket.destroyed) return end()
  // As many as may wait on a connection, and what else listens.
  socket.setMaxListeners(32)
  raw.once('close', end)
  socket.once('close', end)
}
