/** The range of an axis, as exponents of ten. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The decades that contain all values; at least one. */
export function spanOf(values: readonly number[]): Span {
  if (values.length === 0) return { from: 0, to: 1 }
  const from = Math.floor(Math.log10(Math.min(...values)))
  return { from, to: Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values)))) }
}

/** The position of a value in the span: 0 at its start, 1 at its end. */
export function shareOf(value: number, { from, to }: Span): number {
  return (Math.log10(value) - from) / (to - from)
}

/** The powers of ten in the span. `from` must be an integer. */
export function powers({ from, to }: Span): number[] {
  return Array.from({ length: Math.floor(to - from) + 1 }, (_, index) => 10 ** (from + index))
}
