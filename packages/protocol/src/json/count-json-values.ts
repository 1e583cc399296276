const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const SPACE = 0x20

/** Counts the values of a JSON text that is read in pieces. */
export interface JsonCounter {
  /** The values so far; at most one more than there are, where a container is just beginning. */
  add(piece: Uint8Array): number
}

/**
 * How many values a JSON text holds, containers and what is in them, without parsing it: 16 MiB
 * take tens of milliseconds here, and many seconds to parse when they are millions of values. For a
 * text that is not JSON it is some number.
 */
export function countJsonValues(text: Uint8Array): number {
  return createJsonCounter().add(text)
}

/** For a text so long that others must have their turn in between. */
export function createJsonCounter(): JsonCounter {
  let values = 1
  let before = 0
  let isInString = false
  /** The piece ended behind a backslash. */
  let isEscaped = false

  return {
    add(piece) {
      let index = isInString ? endOfString(piece, isEscaped ? 1 : 0) : -1
      for (;;) {
        isInString = index >= piece.length
        isEscaped = index > piece.length
        if (isInString) return values
        for (index += 1; index < piece.length && piece[index] !== QUOTE; index += 1) {
          const byte = piece[index] ?? 0
          // White space; other control characters are not JSON anyway.
          if (byte <= SPACE) continue
          values += valuesAt(byte, before)
          before = byte
        }
        if (index >= piece.length) return values
        before = QUOTE
        index = endOfString(piece, index + 1)
      }
    },
  }
}

/**
 * The quotation mark that ends the string which `start` is in. The length of the text, or one more
 * behind a backslash, when it does not end.
 */
function endOfString(text: Uint8Array, start: number): number {
  let index = start
  while (index < text.length && text[index] !== QUOTE) index += text[index] === BACKSLASH ? 2 : 1
  return index
}

/** How many values more there are by a byte outside of strings; an empty container holds none. */
function valuesAt(byte: number, before: number): number {
  if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) return 1
  if (byte === CLOSE_ARRAY && before === OPEN_ARRAY) return -1
  return byte === CLOSE_OBJECT && before === OPEN_OBJECT ? -1 : 0
}
