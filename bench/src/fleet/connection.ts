import { connect, type Socket } from 'node:net'

/**
 * A keep-alive connection with one request in flight. It implements the part of HTTP/1.1 that the
 * server uses.
 */
export interface FleetConnection {
  /** Rejects when the connection ends before the response is complete. */
  ask(request: string): Promise<FleetAnswer>
  isOpen(): boolean
}

export interface FleetAnswer {
  readonly status: number
  readonly headers: [string, string][]
  readonly body: Buffer<ArrayBuffer>
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')

export function openConnection(port: number): Promise<FleetConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(createConnection(socket))
    })
  })
}

function createConnection(socket: Socket): FleetConnection {
  let waiting: PromiseWithResolvers<FleetAnswer> | null = null
  let received = Buffer.alloc(0)

  socket.on('error', () => undefined)
  socket.on('close', () => waiting?.reject(new Error('the server closed the connection')))
  socket.on('data', (chunk) => {
    received = received.length === 0 ? Buffer.from(chunk) : Buffer.concat([received, chunk])
    const answer = readAnswer(received)
    if (answer === null) return
    if (answer.headers.some(([name]) => name === 'transfer-encoding')) {
      socket.destroy(new Error('chunked responses are not supported'))
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

/** Returns null while the response is incomplete. */
function readAnswer(bytes: Buffer): FleetAnswer | null {
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
