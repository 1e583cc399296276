import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A refused body up to this size is read and discarded, so that the connection stays usable. */
const MAX_DISCARDED_BYTES = 64 * 1024
/** Bytes and time that a larger refused body gets before its connection is closed. */
const LINGER_BYTES = 4 * 1024 * 1024
const LINGER_MS = 2_000
/** Pause between two chunks of a refused body, which slows down a client that keeps sending. */
const LINGER_PAUSE_MS = 10

/**
 * Closes the connection after an answer that leaves a large body, or one of unknown length, unread.
 * Node would read and discard the rest until its timeout, to reach the next request.
 */
export function closeAfterUnreadBody(listener: RequestListener): RequestListener {
  return (request, response) => {
    if (mayBeLarge(request)) closeUnlessRead(request, response)
    listener(request, response)
  }
}

/** Sends `100 Continue` when a handler starts to read the body, rather than at once. */
export function continueWhenRead(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    server.emit('request', request, response)
  })
}

/** Tells whether a request announces a body beyond 64 KiB or of unknown length. */
export function mayBeLarge({ headers }: IncomingMessage): boolean {
  return (
    'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > MAX_DISCARDED_BYTES
  )
}

function closeUnlessRead(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  response.setHeader('connection', 'close')
  // Node calls `destroySoon` after the last answer of a connection. The kernel resets a connection
  // that is closed with unread bytes, and a client that is still sending would lose the answer.
  socket.destroySoon = () => linger(request, socket)
  request.once('end', () => {
    Reflect.deleteProperty(socket, 'destroySoon')
    if (!response.headersSent) response.removeHeader('connection')
  })
}

function linger(request: IncomingMessage, socket: Socket): void {
  const mostBytes = socket.bytesRead + LINGER_BYTES
  socket.end()
  request.on('data', () => request.pause()).resume()
  const more = setInterval(() => {
    if (socket.bytesRead > mostBytes) socket.destroy()
    else request.resume()
  }, LINGER_PAUSE_MS)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => {
    clearInterval(more)
    clearTimeout(timer)
  })
}
