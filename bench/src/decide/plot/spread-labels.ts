interface Room {
  /** The smallest distance between two labels. */
  readonly gap: number
  readonly from: number
  readonly to: number
}

/**
 * Positions labels in the order of `wanted`: at least `gap` apart, between `from` and `to` while
 * there is room, each near its wanted position.
 */
export function spreadLabels(wanted: readonly number[], { gap, from, to }: Room): number[] {
  const order = wanted.map((at, index) => ({ at, index })).toSorted((a, b) => a.at - b.at)
  const places = order.map(({ at }) => at)
  for (let index = 1; index < places.length; index += 1)
    places[index] = Math.max(places[index] ?? 0, (places[index - 1] ?? from) + gap)
  // From the end backwards, to move labels beyond `to` inside again.
  let limit = to
  for (let index = places.length - 1; index >= 0; index -= 1) {
    places[index] = Math.min(places[index] ?? 0, limit)
    limit = (places[index] ?? 0) - gap
  }
  const placed = Array.from({ length: wanted.length }, () => 0)
  for (const [rank, { index }] of order.entries()) placed[index] = places[rank] ?? 0
  return placed
}
