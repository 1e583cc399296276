import { usageError } from '../runtime/cli-error.ts'
import type { Io } from '../runtime/io.ts'
import { tellTyping } from '../runtime/waiting.ts'

const MAX_BYTES = 4096

/** Reads one line from standard input: a token or a password. Throws usage errors. */
export async function readSecretLine(
  io: Pick<Io, 'stderr' | 'stdin'>,
  kind: 'token' | 'password',
): Promise<string> {
  tellTyping(io, `the ${kind} from the terminal, which shows it`)
  const { stdin } = io
  const secret = (await readText(stdin, kind)).replace(/\r?\n$/, '')
  if (secret === '') throw usageError(`standard input is empty; pipe the ${kind} in`)
  if (/\p{Cc}/u.test(secret))
    throw usageError(`standard input holds more than a ${kind}; write it on one line`)
  return secret
}

/** Decodes at the end, because a character may be split between two chunks. */
async function readText(stdin: Io['stdin'], kind: string): Promise<string> {
  let bytes = Buffer.alloc(0)
  for await (const chunk of stdin as AsyncIterable<Buffer | string>) {
    bytes = Buffer.concat([bytes, typeof chunk === 'string' ? Buffer.from(chunk) : chunk])
    if (bytes.length > MAX_BYTES) throw usageError(`standard input is too long to be a ${kind}`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw usageError('standard input is not UTF-8 text')
  }
}
