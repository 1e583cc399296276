/** The entry of `known` closest to `text`, as a correction; null without a close one. */
export function nearestName(text: string, known: readonly string[]): string | null {
  // A longer text is no typing error, and the table below is quadratic in its length.
  if (text.length > 40) return null
  const limit = Math.max(1, Math.floor(text.length / 3))
  let best: { readonly name: string; readonly distance: number } | null = null
  for (const name of known) {
    const distance = editDistance(text.toLowerCase(), name.toLowerCase())
    if (distance <= limit && (best === null || distance < best.distance)) best = { name, distance }
  }
  return best?.name ?? null
}

/** Levenshtein distance in UTF-16 units. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}
