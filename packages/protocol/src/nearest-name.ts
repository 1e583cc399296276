import { distance } from 'fastest-levenshtein'

/** The entry of `known` closest to `text`, as a correction; null without a close one. */
export function nearestName(text: string, known: readonly string[]): string | null {
  // A longer text is no typing error, and the time of `distance` is quadratic in its length.
  if (text.length > 40) return null
  const limit = Math.max(1, Math.floor(text.length / 3))
  let best: { readonly name: string; readonly edits: number } | null = null
  for (const name of known) {
    const edits = distance(text.toLowerCase(), name.toLowerCase())
    if (edits <= limit && (best === null || edits < best.edits)) best = { name, edits }
  }
  return best?.name ?? null
}
