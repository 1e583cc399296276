/** `value` as one word of a POSIX shell, whatever it holds; plain words stay as they are. */
export function quoteShell(value: string): string {
  return /^[\w./:@%+=-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}
