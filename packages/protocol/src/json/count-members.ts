const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]

/** How many members the objects in a valid JSON text have in all, repeated ones included. */
export function countMembers(text: string): number {
  let members = 0
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) index = endOfString(text, index)
    else if (unit === COLON) members += 1
  }
  return members
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
