interface Room {
  /** The least distance between two labels. */
  readonly gap: number
  readonly from: number
  readonly to: number
}

/**
 * Places for labels that want to stand at `wanted`, in the same order: none nearer than `gap` to
 * another, all between `from` and `to` as far as there is room, each near where it belongs.
 */
export function spreadLabels(wanted: readonly number[], { gap, from, to }: Room): number[] {
  const order = wanted.map((at, index) => ({ at, index })).toSorted((a, b) => a.at - b.at)
  const places = order.map(({ at }) => at)
  for (let index = 1; index < places.length; index += 1)
    places[index] = Math.max(places[index] ?? 0, (places[index - 1] ?? from) + gap)
  // Back from the end, so that what was pushed out comes in again.
  let limit = to
  for (let index = places.length - 1; index >= 0; index -= 1) {
    places[index] = Math.min(places[index] ?? 0, limit)
    limit = (places[index] ?? 0) - gap
  }
  const placed = Array.from({ length: wanted.length }, () => 0)
  for (const [rank, { index }] of order.entries()) placed[index] = places[rank] ?? 0
  return placed
}
