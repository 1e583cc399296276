import { createReadStream, statSync } from 'node:fs'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { join, normalize } from 'node:path'
import type { Duplex } from 'node:stream'
import { LaunchError } from '../../../packages/launcher/prepare/launch-error.mjs'

/** Starts every answer, so that a program's output proves whom it reached. */
export const ORIGIN_MARK = 'origin '

/** Web servers on loopback addresses, all on the same two ports. */
export interface Origins {
  readonly port: number
  readonly otherPort: number
  /** Requests that any of them has seen, and connections of other protocols. */
  hits(): number
  close(): Promise<void>
}

/** `files` is a folder that the web servers serve, beside their own answer at `/`. */
export async function startOrigins(addresses: readonly string[], files: string): Promise<Origins> {
  let hits = 0
  const servers: Server[] = []
  const onStranger = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (error.code?.startsWith('HPE_') === true) hits += 1
    socket.destroy()
  }
  const listener: RequestListener = (request, response) => {
    hits += 1
    if (request.url === '/') response.end(`${ORIGIN_MARK}${request.socket.localAddress}\n`)
    else serveFile(files, request.url ?? '/', response)
  }
  const createOrigin = (): Server => createServer(listener).on('clientError', onStranger)
  const close = async () => {
    await Promise.all(servers.map(closeServer))
  }
  try {
    const port = await listenOnAll(addresses, createOrigin, servers)
    const otherPort = await listenOnAll(addresses, createOrigin, servers)
    return { port, otherPort, hits: () => hits, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Listens on one free port that all addresses share, and adds to `servers`. Returns the port. */
async function listenOnAll(
  addresses: readonly string[],
  createOrigin: () => Server,
  servers: Server[],
): Promise<number> {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const opened: Server[] = []
    try {
      let port = 0
      for (const address of addresses) {
        const server = createOrigin()
        port = await listen(server, port, address)
        opened.push(server)
      }
      servers.push(...opened)
      return port
    } catch (error) {
      await Promise.all(opened.map(closeServer))
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    }
  }
  throw new LaunchError('no port is free on all addresses of the demo')
}

/** Returns the port, which is a free one for port 0. */
export function listen(server: Server, port: number, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(explainListen(error, address)))
    server.listen(port, address, () => {
      const bound = server.address()
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port)
    })
  })
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

function explainListen(error: NodeJS.ErrnoException, address: string): Error {
  if (error.code !== 'EADDRNOTAVAIL') return error
  return new LaunchError(
    `\`${address}\` cannot be listened on; ` +
      'the demo needs the whole of 127.0.0.0/8, as Linux has it',
  )
}

function serveFile(files: string, url: string, response: ServerResponse): void {
  // Normalized from `/`, so that no `..` leaves the folder.
  const path = join(files, normalize(new URL(url, 'http://origin').pathname))
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isFile()) createReadStream(path).pipe(response)
  else response.writeHead(404).end('no such file\n')
}
