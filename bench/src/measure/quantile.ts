/** Returns the value at the quantile `q` (0 to 1), or NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * q)] ?? Number.NaN
}
