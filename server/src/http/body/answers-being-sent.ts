import type { FastifyReply } from 'fastify'
import { ApiError } from '../../platform/api-error.ts'
import type { Answer } from '../answer.ts'
import { slicedBody } from './sliced-body.ts'

/** Bytes of one organization: two of the largest answers, and smaller ones. */
const MAX_HELD_BYTES = 96 * 2 ** 20
/** Enough for the largest answer at 70 kB/s. */
const SEND_WITHIN_MS = 10 * 60 * 1000

/**
 * Bounds the memory of each organization for answers that clients have not read yet. Readers of one
 * body share its bytes. But a caller who may change policies gets a new body with every revision,
 * and could hold any number of them by reading slowly.
 */
export interface AnswersBeingSent {
  /** Throws 429 while the answers of the organization exceed the bound. */
  requireRoom(org: string): void
  /** Sends an answer, and closes the connection when the client takes longer than ten minutes. */
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

/** Calls `release` once, when the answer is sent or its connection is closed. */
function whileSending({ raw, request }: FastifyReply, withinMs: number, release: () => void): void {
  const { socket } = request.raw
  const timer = setTimeout(() => socket.destroy(), withinMs)
  timer.unref()
  const end = (): void => {
    raw.off('close', end)
    // A response queued behind another one emits no `close` with its connection.
    socket.off('close', end)
    clearTimeout(timer)
    release()
  }
  if (socket.destroyed) return end()
  // One listener for each pipelined request, and those of Node.
  socket.setMaxListeners(32)
  raw.once('close', end)
  socket.once('close', end)
}
