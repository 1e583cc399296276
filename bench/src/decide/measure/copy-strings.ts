/**
 * Copies texts to new flat strings without a cached hash, as a socket delivers them. A string that
 * was looked up before caches its hash, which makes `Map.get` several times faster than a proxy
 * ever sees.
 */
export function copyStrings(texts: readonly string[], from = 0, count = texts.length): string[] {
  const copies: string[] = []
  for (let index = from; index < from + count; index += 1) {
    const text = texts[index % texts.length] ?? ''
    const encoding = isLatin1(text) ? 'latin1' : 'utf16le'
    copies.push(Buffer.from(text, encoding).toString(encoding))
  }
  return copies
}

function isLatin1(text: string): boolean {
  return !/[^\0-\u00ff]/.test(text)
}
