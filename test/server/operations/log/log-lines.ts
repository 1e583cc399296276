import { Writable } from 'node:stream'

/** One line of a log, parsed. */
export type LogLine = Readonly<Record<string, unknown>>

/** A log destination that keeps its lines. */
export interface LogCapture {
  readonly stream: Writable
  text(): string
  lines(): LogLine[]
  /** Lines of requests. */
  requests(): LogLine[]
}

export function captureLog(): LogCapture {
  let written = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written += String(chunk)
      done()
    },
  })
  const lines = () =>
    written
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine)
  return {
    stream,
    text: () => written,
    lines,
    requests: () => lines().filter(({ msg }) => msg === 'request'),
  }
}
