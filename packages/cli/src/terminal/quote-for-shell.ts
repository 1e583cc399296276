/** `value` as one word of a shell's command line. */
export function quoteForShell(value: string): string {
  return /^[\w./:@%+=-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}
