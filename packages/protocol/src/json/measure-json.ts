const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

export interface JsonExtent {
  /** Members of all objects, including repeated ones. */
  readonly members: number
  /** Maximum nesting of objects and arrays. */
  readonly depth: number
}

/** Measures a JSON text without parsing it. For other texts the numbers are arbitrary. */
export function measureJson(text: string): JsonExtent {
  let [members, depth, deepest] = [0, 0, 0]
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) index = endOfString(text, index)
    else if (unit === COLON) members += 1
    else if (unit === OPEN_ARRAY || unit === OPEN_OBJECT) depth += 1
    else if (unit === CLOSE_ARRAY || unit === CLOSE_OBJECT) depth -= 1
    if (depth > deepest) deepest = depth
  }
  return { members, depth: deepest }
}

/** The quotation mark that ends the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  for (; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) break
    if (unit === BACKSLASH) index += 1
  }
  return index
}
