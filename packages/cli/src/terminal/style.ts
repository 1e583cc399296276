import { styleText } from 'node:util'
import { printable } from './printable.ts'

/** Text emphasis. Every function escapes its text: see `printable`. */
export interface Style {
  good(text: string): string
  bad(text: string): string
  warning(text: string): string
  strong(text: string): string
  quiet(text: string): string
  plain(text: string): string
}

type Format = Parameters<typeof styleText>[0]

/** Without `colour`, the functions only escape. */
export function createStyle(colour: boolean): Style {
  const styled =
    (format: Format) =>
    (text: string): string =>
      colour && text !== ''
        ? styleText(format, printable(text), { validateStream: false })
        : printable(text)
  return {
    good: styled('green'),
    bad: styled('red'),
    warning: styled('yellow'),
    strong: styled('bold'),
    quiet: styled('dim'),
    plain: printable,
  }
}
