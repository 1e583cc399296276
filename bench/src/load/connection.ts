import { connect, type Socket } from 'node:net'

/**
 * A keep-alive connection with one request in flight. It reads only the necessary parts of
 * HTTP/1.1.
 */
export interface LoadConnection {
  /** Resolves with status and headers once the body has arrived. */
  ask(request: Buffer): Promise<LoadAnswer>
  /** Whether the server has neither closed the connection nor announced that it will. */
  isOpen(): boolean
}

export interface LoadAnswer {
  readonly status: number
  /** Latin-1 text from the status line to the empty line. */
  readonly head: string
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const CLOSES = /\r\nconnection: *close(\r\n|$)/i
const CHUNKED = /\r\ntransfer-encoding: *chunked(\r\n|$)/i
const END_OF_CHUNKS = Buffer.from('\r\n0\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i

export function openConnection(port: number): Promise<LoadConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => resolve(serve(socket)))
  })
}

function serve(socket: Socket): LoadConnection {
  let waiting: { resolve: (answer: LoadAnswer) => void; reject: (error: Error) => void } | null =
    null
  let answer: LoadAnswer | null = null
  let missing = 0
  /** The last bytes of a chunked body; null for any other. */
  let tail: Buffer | null = null
  let pending: Buffer | null = null

  const fail = (error: Error): void => waiting?.reject(error)
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed a connection')))
  socket.on('data', (chunk) => {
    if (answer === null) {
      const bytes: Buffer = pending === null ? chunk : Buffer.concat([pending, chunk])
      const end = bytes.indexOf(END_OF_HEAD)
      pending = end < 0 ? bytes : null
      if (end < 0) return
      const head = bytes.toString('latin1', 0, end)
      const status = Number(head.slice(9, 12))
      answer = { status, head }
      const length = status === 304 || status === 204 ? 0 : Number(LENGTH.exec(head)?.[1] ?? 0)
      missing = length - (bytes.length - end - END_OF_HEAD.length)
      // With the line end of the head, before which an empty body begins.
      tail = CHUNKED.test(head) ? lastOf(bytes.subarray(end + 2)) : null
    } else if (tail !== null) tail = lastOf(Buffer.concat([tail, chunk]))
    else missing -= chunk.length
    if (tail === null ? missing > 0 : !tail.equals(END_OF_CHUNKS)) return
    // The server closes after this answer and ignores the rest of the request.
    if (CLOSES.test(answer.head)) socket.destroy()
    const [complete, { resolve }] = [answer, waiting ?? { resolve: () => undefined }]
    answer = null
    waiting = null
    resolve(complete)
  })
  return {
    ask(request) {
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(request)
      })
    },
    isOpen: () => !socket.destroyed && !socket.readableEnded,
  }
}

function lastOf(bytes: Buffer): Buffer {
  return bytes.subarray(-END_OF_CHUNKS.length)
}
