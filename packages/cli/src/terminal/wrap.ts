/** A column is hardly readable below this width. */
const LEAST_WIDTH = 6

/**
 * Breaks a text into lines of at most `width` characters: at a space, after punctuation, or
 * anywhere.
 */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let rest = [...text]
  while (rest.length > width) {
    const head = rest.slice(0, width + 1)
    const space = head.lastIndexOf(' ')
    const mark = head.slice(0, width).findLastIndex((each) => '/.,:-'.includes(each)) + 1
    const isAtSpace = space * 2 > width || (space > 0 && fitsFrom(space + 1, rest, width))
    const end = isAtSpace ? space : mark * 2 > width ? mark : width
    lines.push(rest.slice(0, end).join(''))
    rest = rest.slice(rest[end] === ' ' ? end + 1 : end)
  }
  return [...lines, rest.join('')]
}

/** Whether the word that begins at an index, which would be cut, fits a line of its own. */
function fitsFrom(start: number, text: readonly string[], width: number): boolean {
  const end = text.indexOf(' ', start)
  return (end === -1 ? text.length : end) - start <= width
}

/** Narrows the widest columns until all fit into `room`. */
export function fitWidths(widths: readonly number[], room: number): readonly number[] {
  const fitted = [...widths]
  for (let over = sum(fitted) - room; over > 0; over -= 1) {
    const widest = fitted.indexOf(Math.max(...fitted))
    if ((fitted[widest] ?? 0) <= LEAST_WIDTH) break
    fitted[widest] = (fitted[widest] ?? 0) - 1
  }
  return fitted
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
