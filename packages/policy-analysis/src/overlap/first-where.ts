/** The first index for which `holds` is true, when it is true of all behind it too. */
export function firstWhere(from: number, to: number, holds: (index: number) => boolean): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
