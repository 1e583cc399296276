import { SLASH } from './path-automaton.ts'

/** How far a text has come towards a canonical path: no empty, `.` or `..` segment. */
export interface PathGrammar {
  readonly id: string
  /** Whether what was read is a path; the empty text is the root. */
  readonly mayEnd: boolean
}

export const ROOT: PathGrammar = { id: 'root', mayEnd: true }
const SEGMENT_START: PathGrammar = { id: 'start', mayEnd: false }
const DOT: PathGrammar = { id: 'dot', mayEnd: false }
const DOT_DOT: PathGrammar = { id: 'dot-dot', mayEnd: false }
const NAME: PathGrammar = { id: 'name', mayEnd: true }

const FULL_STOP = 0x2e

/** What one more code point makes of the text; null when no path starts like that. */
export function advance(grammar: PathGrammar, letter: number): PathGrammar | null {
  if (letter === SLASH) return grammar.mayEnd ? SEGMENT_START : null
  if (grammar === ROOT) return null
  if (letter !== FULL_STOP) return NAME
  if (grammar === SEGMENT_START) return DOT
  return grammar === DOT ? DOT_DOT : NAME
}
