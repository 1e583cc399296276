/** The value below which the share `q` (0 to 1) of the values lie; NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * q)] ?? Number.NaN
}
