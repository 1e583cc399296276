import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'

/** Unanswered requests on one connection; most clients send one at a time. */
const MAX_WAITING = 16

/**
 * Closes a connection that keeps sending requests without reading the answers. Node reads all
 * requests in 64 KiB before it pauses, so that a few such clients could fill the memory with
 * answers.
 */
export function limitPipelining(app: FastifyInstance): void {
  const waiting = new WeakMap<Socket, number>()
  const count = (socket: Socket, change: 1 | -1): number => {
    const total = (waiting.get(socket) ?? 0) + change
    waiting.set(socket, total)
    return total
  }
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    if (count(socket, 1) > MAX_WAITING) {
      reply.hijack()
      socket.destroy()
      return
    }
    reply.raw.on('close', () => count(socket, -1))
    done()
  })
}
