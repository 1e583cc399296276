import { SLASH } from './path-automaton.ts'

/** State of reading a canonical path, which has no empty, `.` or `..` segment. */
export interface PathGrammar {
  readonly id: string
  /** Whether the text so far is a path; the empty text is the root. */
  readonly mayEnd: boolean
}

export const ROOT: PathGrammar = { id: 'root', mayEnd: true }
const SEGMENT_START: PathGrammar = { id: 'start', mayEnd: false }
const DOT: PathGrammar = { id: 'dot', mayEnd: false }
const DOT_DOT: PathGrammar = { id: 'dot-dot', mayEnd: false }
const NAME: PathGrammar = { id: 'name', mayEnd: true }

const FULL_STOP = 0x2e

/** The state after one more code point; null when no path starts like that. */
export function advance(grammar: PathGrammar, letter: number): PathGrammar | null {
  if (letter === SLASH) return grammar.mayEnd ? SEGMENT_START : null
  if (grammar === ROOT) return null
  if (letter !== FULL_STOP) return NAME
  if (grammar === SEGMENT_START) return DOT
  return grammar === DOT ? DOT_DOT : NAME
}
