/** Yields every text of up to `length` of the characters once. */
export function* everyText(characters: readonly string[], length: number): Generator<string> {
  yield ''
  if (length === 0) return
  for (const first of characters)
    for (const rest of everyText(characters, length - 1)) yield first + rest
}
