const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const SPACE = 0x20

/**
 * How many values a JSON text holds, containers and what is in them, without parsing it: 16 MiB
 * take tens of milliseconds here, and many seconds to parse when they are millions of values. For a
 * text that is not JSON it is some number.
 */
export function countJsonValues(text: Uint8Array): number {
  let values = 1
  let before = 0
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index] ?? 0
    // White space; other control characters are not JSON anyway.
    if (byte <= SPACE) continue
    if (byte === QUOTE) index = endOfString(text, index)
    else if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) values += 1
    else if (byte === CLOSE_ARRAY && before === OPEN_ARRAY) values -= 1
    else if (byte === CLOSE_OBJECT && before === OPEN_OBJECT) values -= 1
    before = byte
  }
  return values
}

/** The quotation mark that ends the string which begins at `start`, or the end of the text. */
function endOfString(text: Uint8Array, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== QUOTE) index += text[index] === BACKSLASH ? 2 : 1
  return index
}
