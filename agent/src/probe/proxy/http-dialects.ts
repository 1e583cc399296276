import { converse, overStreams, readRest, type Dialect, type Outcome } from './dialect.ts'

const END_OF_HEAD = '\r\n\r\n'
const MAX_HEAD_BYTES = 16_384

/** Opens a tunnel, and sends a request for the target through it. */
export const probeConnect: Dialect = overStreams((question) =>
  converse(question, async (proxy) => {
    const authority = `${question.host}:${question.port}`
    proxy.write(Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}${END_OF_HEAD}`))
    const head = await proxy.takeUntil(END_OF_HEAD, MAX_HEAD_BYTES)
    const refusal = readRefusal(typeof head === 'string' ? '' : head.toString('latin1'))
    if (refusal !== null) return refusal
    proxy.write(formatRequest(`/${question.text}`, authority))
    return { kind: 'answered', answer: await readRest(proxy) }
  }),
)

/** Sends a request in absolute form. */
export const probeHttp: Dialect = overStreams((question) =>
  converse(question, async (proxy) => {
    const authority = `${question.host}:${question.port}`
    proxy.write(formatRequest(`http://${authority}/${question.text}`, authority))
    const answer = await readRest(proxy)
    const [head = ''] = answer.split(END_OF_HEAD)
    return readRefusal(head) ?? { kind: 'answered', answer }
  }),
)

/** A request over HTTP/1.1 after whose answer the connection is closed. */
export function formatRequest(target: string, authority: string): Buffer {
  return Buffer.from(
    `GET ${target} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close${END_OF_HEAD}`,
  )
}

/** Null for an answer that is no refusal. A denial carries its decision. */
function readRefusal(head: string): Outcome | null {
  if (head.startsWith('HTTP/1.1 200 ')) return null
  const [line = ''] = head.split('\r\n')
  if (!head.startsWith('HTTP/1.1 403 '))
    return { kind: 'failed', detail: line === '' ? 'no answer' : line }
  return /^palisade-decision: deny/im.test(head)
    ? { kind: 'denied' }
    : { kind: 'failed', detail: `${line}, without a decision` }
}
