import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export const LOOPBACK = '127.0.0.1'

/** A server that collects the ports of its clients. */
export async function startServer(): Promise<{ port: number; clients: Socket[] }> {
  const clients: Socket[] = []
  const server = createServer((client) => clients.push(client.on('error', () => {})))
  server.listen(0, LOOPBACK)
  await once(server, 'listening')
  onTestFinished(() => {
    clients.forEach((client) => client.destroy())
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, clients }
}

export const endOf = (client: Socket | undefined) => ({
  address: client?.remoteAddress ?? '',
  port: client?.remotePort ?? 0,
})
