import type { Socket } from 'node:net'
import { MAX_HEAD_BYTES } from '../../http/header-list.ts'
import { ParentFault } from './parent-fault.ts'

const END = '\r\n\r\n'
const START = 'HTTP/1.'

/** Without bare CR, bare LF or NUL, which two readers interpret differently. */
const STATUS_LINE = /^HTTP\/1\.[01] ([1-5]\d\d)(?: [^\r\n\0]*)?$/
const FIELD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*$/

/**
 * Reads the head of the answer to a CONNECT request and returns its status. Bytes after the head
 * belong to the tunnel and stay unread in `socket`. Throws `ParentFault`: the head is bounded in
 * size, and in time by `signal`.
 */
export async function readConnectAnswer(socket: Socket, signal: AbortSignal): Promise<number> {
  const head = await readHead(socket, signal)
  const [first = '', ...fields] = head.split('\r\n')
  const status = STATUS_LINE.exec(first)?.[1]
  if (status === undefined || !fields.every((field) => FIELD.test(field))) throw badAnswer()
  return Number(status)
}

function readHead(socket: Socket, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let received: Buffer = Buffer.alloc(0)
  const take = (chunk: Buffer): boolean => {
    const from = Math.max(received.byteLength - END.length + 1, 0)
    received = Buffer.concat([received, chunk])
    const end = received.indexOf(END, from)
    const isLong = (end < 0 ? received.byteLength : end) > MAX_HEAD_BYTES
    const start = received.toString('latin1', 0, START.length)
    if (isLong || !START.startsWith(start)) {
      reject(badAnswer())
      return true
    }
    if (end < 0) return false
    const rest = received.subarray(end + END.length)
    if (rest.byteLength > 0) socket.unshift(rest)
    resolve(received.toString('latin1', 0, end))
    return true
  }
  // Reads piece by piece instead of flowing, so that no byte of the tunnel passes unheard.
  const onReadable = (): void => {
    for (;;) {
      const chunk = socket.read() as Buffer | null
      if (chunk === null) return
      if (take(chunk)) {
        stop()
        return
      }
    }
  }
  const onEnd = (): void =>
    reject(new ParentFault('unreachable', 'the parent proxy closed the connection'))
  const onAbort = (): void =>
    reject(new ParentFault('slow', 'the parent proxy did not answer in time'))
  const stop = (): void => {
    socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd)
    signal.removeEventListener('abort', onAbort)
  }
  socket.on('readable', onReadable).once('end', onEnd).once('close', onEnd)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  else if (socket.destroyed) onEnd()
  else onReadable()
  return promise.finally(stop)
}

function badAnswer(): ParentFault {
  return new ParentFault('bad_answer', 'the parent proxy did not answer with valid HTTP')
}
