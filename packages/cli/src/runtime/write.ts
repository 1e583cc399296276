import type { Writable } from 'node:stream'
import { CliError } from './cli-error.ts'
import { EXIT } from './exit-code.ts'
import { describeSystemError, systemCode } from './system-error.ts'

const READER_GONE: ReadonlySet<string> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ECONNRESET'])

/**
 * Writes `text` and waits until the stream has accepted it. Resolves to false if the reader has
 * gone (such as `| head`), which is not a failure; a full disk is a failure.
 */
export function write(stream: Writable, text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error === null || error === undefined) resolve(true)
      else if (READER_GONE.has(systemCode(error))) resolve(false)
      else reject(notWritten(error))
    })
  })
}

function notWritten(cause: Error): CliError {
  const message = `cannot write the answer: ${describeSystemError(cause)}`
  return new CliError('ERR_OUTPUT', EXIT.usage, message, { cause })
}
