/** Formats two or three significant digits with k and M, for tables and axes. */
export function formatNumber(value: number): string {
  if (value >= 1e6) return `${trim(value / 1e6)}M`
  if (value >= 1e3) return `${trim(value / 1e3)}k`
  return trim(value)
}

function trim(value: number): string {
  return String(Number(value.toPrecision(value >= 100 ? 3 : 2)))
}
