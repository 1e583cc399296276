import { setImmediate as pause } from 'node:timers/promises'

/**
 * Small files by the hundred, or a long text, parsed in a few milliseconds without an optimizing
 * compiler.
 */
const PIECE_BYTES = 16 * 1024
const BLANKS = /^[ \t\n\r]*/
/** The part of a string that can be decoded by itself, without a cut escape. */
const WHOLE_UNITS = /^(?:[^"\\]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/
/** Length of the longest escape, such as `\u0041`. */
const ESCAPE_LENGTH = 6

/** The text is not UTF-8, or not JSON with only strings as values. */
export class JsonDamage extends Error {
  override readonly name = 'JsonDamage'
}

/** Reads JSON text token by token. Every function rejects with JsonDamage. */
export interface JsonReader {
  expect(token: '{' | '}' | ':'): Promise<void>
  /** Consumes the token if it comes next; returns whether it did. */
  skip(token: '}' | ','): Promise<boolean>
  /** A string; null for one of more than `maxUnits` UTF-16 code units. */
  string(maxUnits: number): Promise<string | null>
  /** Checks that only white space is left. */
  end(): Promise<void>
}

/** Lets decisions be made before each piece of the text. */
export function createJsonReader(chunks: readonly Uint8Array[]): JsonReader {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const pieces = cut(chunks)
  /** Decoded but unread text. */
  let text = ''

  function decode(piece: Uint8Array | undefined): string {
    try {
      return decoder.decode(piece, { stream: piece !== undefined })
    } catch (error) {
      throw new JsonDamage('it is not UTF-8 text', { cause: error })
    }
  }

  /** Decodes the next piece; returns false at the end. */
  async function more(): Promise<boolean> {
    const { value, done } = pieces.next()
    if (done === true) {
      decode(undefined)
      return false
    }
    await pause()
    text += decode(value)
    return true
  }

  /** The first character of the next token; empty at the end. */
  async function peek(): Promise<string> {
    do text = text.slice(BLANKS.exec(text)?.[0].length)
    while (text === '' && (await more()))
    return text.charAt(0)
  }

  async function skip(token: string): Promise<boolean> {
    if ((await peek()) !== token) return false
    text = text.slice(1)
    return true
  }

  async function expect(token: string): Promise<void> {
    if (!(await skip(token))) throw new JsonDamage(`it lacks a \`${token}\``)
  }

  return {
    skip,
    expect,
    async string(maxUnits) {
      await expect('"')
      const parts: string[] = []
      let units = 0
      for (;;) {
        const raw = WHOLE_UNITS.exec(text)?.[0] ?? ''
        const part = unquote(raw)
        units += part.length
        if (units > maxUnits) return null
        parts.push(part)
        text = text.slice(raw.length)
        if (text.startsWith('"')) {
          text = text.slice(1)
          return parts.join('')
        }
        if (text.length >= ESCAPE_LENGTH) throw new JsonDamage('it has an invalid escape')
        if (!(await more())) throw new JsonDamage('it ends inside a string')
      }
    },
    async end() {
      if ((await peek()) !== '') throw new JsonDamage('there is text after its end')
    },
  }
}

function* cut(chunks: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  for (const chunk of chunks)
    for (let start = 0; start < chunk.byteLength; start += PIECE_BYTES)
      yield chunk.subarray(start, start + PIECE_BYTES)
}

/** Also refuses control characters. */
function unquote(raw: string): string {
  try {
    return String(JSON.parse(`"${raw}"`))
  } catch (error) {
    throw new JsonDamage('it has a control character in a string', { cause: error })
  }
}
