/** A shorter line was ended on purpose. */
const WRAPPED_BY_HAND = 60
/** Least characters for the text beside a term. */
const LEAST_TEXT = 20
/** A line of a paragraph; lists, tables and JSON begin otherwise. */
const PROSE = /^[\w`($"'./~]/

/**
 * Fits a help text into `width` columns: joins the lines of a paragraph, which the sources wrap,
 * and wraps it at a space. A text beside a term continues below itself. Commands and files that a
 * person copies stay as they are.
 */
export function reflow(text: string, width: number): string {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    const last = lines.at(-1) ?? ''
    const isContinued = /^\S/.test(last) && last.length > WRAPPED_BY_HAND && PROSE.test(line)
    if (isContinued) lines[lines.length - 1] = `${last} ${line}`
    else lines.push(line)
  }
  return lines.map((line) => wrapLine(line, width)).join('\n')
}

function wrapLine(line: string, width: number): string {
  if (line.length <= width) return line
  const term = /^ +[\w<[-].*? {2,}(?=\S)/.exec(line)?.[0].length
  if (term === undefined && !PROSE.test(line)) return line
  const indent = ' '.repeat(term === undefined || term > width - LEAST_TEXT ? 0 : term)
  const lines: string[] = []
  let rest = line
  while (rest.length > width) {
    const end = rest.lastIndexOf(' ', width)
    if (end <= indent.length) break
    lines.push(rest.slice(0, end).trimEnd())
    rest = indent + rest.slice(end + 1)
  }
  return [...lines, rest].join('\n')
}
