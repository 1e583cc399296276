import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, normalize } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'

/** Starts every answer, so that a program's output proves whom it reached. */
export const ORIGIN_MARK = 'origin '

/**
 * Web servers on loopback addresses, all on the same two ports.
 *
 * @typedef {object} Origins
 * @property {number} port
 * @property {number} otherPort
 * @property {() => number} hits requests that any of them has seen
 * @property {() => Promise<void>} close
 */

/**
 * @param {readonly string[]} addresses
 * @param {string} files a folder that they serve, beside their own answer at `/`
 * @returns {Promise<Origins>}
 */
export async function startOrigins(addresses, files) {
  let hits = 0
  const servers = /** @type {import('node:http').Server[]} */ ([])
  /** @type {import('node:http').RequestListener} */
  const listener = (request, response) => {
    hits += 1
    if (request.url === '/') response.end(`${ORIGIN_MARK}${request.socket.localAddress}\n`)
    else serveFile(files, request.url ?? '/', response)
  }
  const close = async () => {
    await Promise.all(servers.map(closeServer))
  }
  try {
    const port = await listenOnAll(addresses, listener, servers)
    const otherPort = await listenOnAll(addresses, listener, servers)
    return { port, otherPort, hits: () => hits, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Listens on one free port that all addresses share.
 *
 * @param {readonly string[]} addresses
 * @param {import('node:http').RequestListener} listener
 * @param {import('node:http').Server[]} servers
 */
async function listenOnAll(addresses, listener, servers) {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const opened = /** @type {import('node:http').Server[]} */ ([])
    try {
      let port = 0
      for (const address of addresses) {
        const server = createServer(listener)
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

/**
 * @param {import('node:http').Server} server
 * @param {number} port
 * @param {string} address
 * @returns {Promise<number>} the port
 */
export function listen(server, port, address) {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(explainListen(error, address)))
    server.listen(port, address, () => {
      const bound = server.address()
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port)
    })
  })
}

/**
 * @param {import('node:http').Server} server
 * @returns {Promise<void>}
 */
export function closeServer(server) {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/**
 * @param {NodeJS.ErrnoException} error
 * @param {string} address
 */
function explainListen(error, address) {
  if (error.code !== 'EADDRNOTAVAIL') return error
  return new LaunchError(
    `\`${address}\` cannot be listened on; the demo needs the whole of 127.0.0.0/8, as Linux has it`,
  )
}

/**
 * @param {string} files
 * @param {string} url
 * @param {import('node:http').ServerResponse} response
 */
function serveFile(files, url, response) {
  // Normalized from `/`, so that no `..` leaves the folder.
  const path = join(files, normalize(new URL(url, 'http://origin').pathname))
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isFile()) createReadStream(path).pipe(response)
  else response.writeHead(404).end('no such file\n')
}
