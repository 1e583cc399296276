import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A body up to this size is read after its refusal, so that the connection can go on. */
const MAX_READ_FOR_NOTHING_BYTES = 64 * 1024
/** How much of a refused body, and for how long, may still arrive before the connection ends. */
const LINGER_BYTES = 4 * 1024 * 1024
const LINGER_MS = 2_000
/** One chunk of a refused body is read each time; a client that sends on pays by waiting. */
const LINGER_PAUSE_MS = 10

/**
 * Closes the connection after an answer that leaves a large body, or one of unknown length, unread.
 * Node reads the rest of every body for the sake of the next request: 100 GB of it until its
 * timeout.
 */
export function closeAfterUnreadBody(listener: RequestListener): RequestListener {
  return (request, response) => {
    if (mayBeLarge(request)) closeUnlessRead(request, response)
    listener(request, response)
  }
}

/** Has a body that waits for `100 Continue` asked for only when it is wanted. */
export function continueWhenRead(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    server.emit('request', request, response)
  })
}

/** Whether a request announces a body beyond 64 KiB, or none of a known length. */
export function mayBeLarge({ headers }: IncomingMessage): boolean {
  return (
    'transfer-encoding' in headers ||
    Number(headers['content-length'] ?? 0) > MAX_READ_FOR_NOTHING_BYTES
  )
}

function closeUnlessRead(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  response.setHeader('connection', 'close')
  // Node calls it after the last answer of a connection, and the kernel then resets a connection
  // with unread bytes: a client that is still sending would lose the answer.
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
