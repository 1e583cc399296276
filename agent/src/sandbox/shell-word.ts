/** In single quotes every byte stands for itself, also a line break. */
export function quoteShellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
