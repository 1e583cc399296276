import type { Segments } from './path-automaton.ts'

/** Every code point that the patterns name. */
export function lettersOf(patterns: readonly Segments[]): ReadonlySet<number> {
  const letters = new Set<number>()
  for (const segment of patterns.flat())
    if ('pieces' in segment)
      for (const char of segment.pieces.join('')) letters.add(char.codePointAt(0) ?? 0)
  return letters
}

/** Letters that people read easily and that case folding keeps. */
const EASY = 'xyzabcdefghijklmnopqrstuvw0123456789-_'
/** CJK Extension B, where code points without letter case begin. */
const FIRST_RARE = 0x20000
const LAST_CODE_POINT = 0x10ffff

/** A code point outside `letters`, which represents all others; null when there is none. */
export function freshLetter(letters: ReadonlySet<number>): number | null {
  for (const char of EASY) {
    const letter = char.charCodeAt(0)
    if (!letters.has(letter)) return letter
  }
  let letter = FIRST_RARE
  while (letters.has(letter)) letter += 1
  return letter <= LAST_CODE_POINT ? letter : null
}

/** Bytes of a code point in UTF-8. */
export function utf8Size(letter: number): number {
  return letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4
}
