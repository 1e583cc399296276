import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'

/** Requests on one connection that wait for their answers; most clients send one at a time. */
const MAX_WAITING = 16

/**
 * Cuts a connection that asks on and on without taking the answers. Node reads all the requests
 * of 64 KiB before it pauses, and their answers pile up in memory: twenty clients took 3 GB.
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
