import { styleText } from 'node:util'
import { printable } from './printable.ts'

/** Text emphasis. Every function escapes its text: see `printable`. */
interface Emphasis {
  good(text: string): string
  bad(text: string): string
  warning(text: string): string
  strong(text: string): string
  quiet(text: string): string
  plain(text: string): string
}

export type Tone = keyof Emphasis

/** The look of an output for people. */
export interface Style extends Emphasis {
  /** Width of the terminal; null for another output, whose lines may have any length. */
  readonly columns: number | null
  /** Whether `--wide` asks for ids and full times. */
  readonly isWide: boolean
}

type Format = Parameters<typeof styleText>[0]

/** The option of lists; `isWide` of a style follows it. */
export const WIDE = ['--wide', 'show ids and full times'] as const

/** Without `colour`, the functions only escape. */
export function createStyle(
  colour: boolean,
  columns: number | null = null,
  isWide: () => boolean = () => false,
): Style {
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
    columns,
    get isWide() {
      return isWide()
    },
  }
}

/** An RFC 3339 instant in UTC to the second, `2026-11-21 11:57:00Z`; as it is with `--wide`. */
export function formatTime(instant: string, { isWide }: Pick<Style, 'isWide'>): string {
  return isWide ? instant : instant.replace(/^(\S{10})T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/, '$1 $2Z')
}
