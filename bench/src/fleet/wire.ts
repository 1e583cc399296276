import { connect, type Socket } from 'node:net'

/**
 * A keep-alive connection with one request in flight, as much of HTTP/1.1 as the server answers
 * with.
 */
export interface Wire {
  /** Rejects when the connection ends before the answer is there. */
  ask(request: string): Promise<WireAnswer>
  isOpen(): boolean
}

export interface WireAnswer {
  readonly status: number
  readonly headers: [string, string][]
  readonly body: Buffer<ArrayBuffer>
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')

export function openWire(port: number): Promise<Wire> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(createWire(socket))
    })
  })
}

function createWire(socket: Socket): Wire {
  let waiting: PromiseWithResolvers<WireAnswer> | null = null
  let received = Buffer.alloc(0)

  socket.on('error', () => undefined)
  socket.on('close', () => waiting?.reject(new Error('the server closed the connection')))
  socket.on('data', (chunk) => {
    received = received.length === 0 ? Buffer.from(chunk) : Buffer.concat([received, chunk])
    const answer = readAnswer(received)
    if (answer === null) return
    if (answer.headers.some(([name]) => name === 'transfer-encoding')) {
      socket.destroy(new Error('the answer is in chunks, which is not read here'))
      return
    }
    received = Buffer.alloc(0)
    const { resolve } = waiting ?? { resolve: () => undefined }
    waiting = null
    resolve(answer)
  })

  return {
    ask(request) {
      waiting = Promise.withResolvers()
      socket.write(request, 'latin1')
      return waiting.promise
    },
    isOpen: () => !socket.destroyed && socket.writable,
  }
}

/** Null while it is not complete. */
function readAnswer(bytes: Buffer): WireAnswer | null {
  const end = bytes.indexOf(END_OF_HEAD)
  if (end < 0) return null
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(first.slice(9, 12))
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  const length = Number(headers.find(([name]) => name === 'content-length')?.[1] ?? 0)
  const from = end + END_OF_HEAD.length
  if (status !== 304 && bytes.length < from + length) return null
  return { status, headers, body: Buffer.from(bytes.subarray(from)) }
}
