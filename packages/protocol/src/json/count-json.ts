import { JsonCounter } from './json-counter.ts'

const [QUOTE, BACKSLASH, SPACE] = [0x22, 0x5c, 0x20]

export interface JsonCount {
  /** Containers, and the values in them. */
  readonly values: number
  /** Members of the largest object, including repeated ones. */
  readonly members: number
}

/**
 * Counts the values of a JSON text without parsing it: 16 MiB take tens of milliseconds, while
 * parsing millions of values takes many seconds. For a text that is not JSON the numbers are
 * arbitrary.
 */
export function countJson(text: Uint8Array): JsonCount {
  const counter = new JsonCounter()
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index] ?? 0
    // White space; other control characters are not JSON anyway.
    if (byte <= SPACE) continue
    counter.count(byte)
    if (byte === QUOTE) index = endOfString(text, index)
  }
  return { values: counter.values, members: counter.members }
}

/** The quotation mark that ends the string which begins at `start`, or the end of the text. */
function endOfString(text: Uint8Array, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== QUOTE) index += text[index] === BACKSLASH ? 2 : 1
  return index
}
