import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'

/** A connection to a published port; its handle comes with the message. */
export interface JoinMessage {
  /** Port of the sandbox. */
  readonly port: number
}

/**
 * Connections of one sandbox. Each has two descriptors, and a sandbox may leave all of them open.
 */
const MAX_CONNECTIONS = 256
/** A server in the sandbox listens on one of them, or on both. */
const LOOPBACK = ['127.0.0.1', '::1']

/**
 * Joins connections of the machine to ports of the sandbox, in whose network this process runs. The
 * agent accepts them outside and hands them over. Ends with the agent.
 */
export function joinConnections(): void {
  let open = 0
  process.on('message', ({ port }: JoinMessage, client: Socket | undefined) => {
    if (client === undefined) return
    // An error, such as a reset before the connection is joined, also closes it.
    client.on('error', () => {})
    if (open >= MAX_CONNECTIONS) {
      client.resetAndDestroy()
      return
    }
    open += 1
    client.once('close', () => (open -= 1))
    void join(client, port)
  })
  process.on('disconnect', () => process.exit())
  process.send?.({ kind: 'ready' })
}

async function join(client: Socket, port: number): Promise<void> {
  const server = await dial(port)
  if (server === null) {
    client.resetAndDestroy()
    return
  }
  // Either side may end first and still wait for the answer.
  client.allowHalfOpen = true
  await Promise.allSettled([pipeline(client, server), pipeline(server, client)])
  client.destroy()
  server.destroy()
}

async function dial(port: number): Promise<Socket | null> {
  for (const host of LOOPBACK) {
    const socket = connect({ host, port, allowHalfOpen: true })
    try {
      await once(socket, 'connect')
      return socket
    } catch {
      socket.destroy()
    }
  }
  return null
}
