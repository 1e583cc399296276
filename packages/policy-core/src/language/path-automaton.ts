import type { GlobSegment } from '../path/glob.ts'

/** The segments of a path pattern, placed at the home directory and folded where need be. */
export type Segments = readonly GlobSegment[]

/**
 * A state of the deterministic automaton of a pattern, after a part of a path. A path is read as
 * code points with a `/` before each segment; the root is the empty text.
 */
export interface PathState {
  /** Counts the states of one automaton. */
  readonly id: number
  /** Places in the tokens that are to be read next, ascending; their number is the end. */
  readonly positions: readonly number[]
  /** Whether the path may end here. */
  readonly accepts: boolean
  /** Whether every path that goes on from here is matched. */
  readonly isUniversal: boolean
  /** The code points that lead elsewhere than one which the pattern does not mention. */
  readonly letters: readonly number[]
}

/** A deterministic automaton of which only those states are made that are asked for. */
export interface PathAutomaton {
  readonly start: PathState
  /** The state behind one more code point; null when no path that goes on from there matches. */
  readonly step: (state: PathState, letter: number) => PathState | null
}

export const SLASH = 0x2f

/** Code points stand for themselves, these for more than one text. */
type Token = number
/** `*` takes any number of code points other than `/`. */
const STAR = -1
/** `**` between two segments: a `/` leads into it, or it matches the empty text. */
const DEEP = -2
/** Inside the text of a `**`, where every code point leads to the same state. */
const INSIDE_DEEP = -3

/**
 * The automaton of one pattern. `spend` receives the size of every step. The number of states can
 * be exponential (in the `*` segments after a `**`), so callers need a bound.
 */
export function createPathAutomaton(
  segments: Segments,
  spend: (steps: number) => void,
): PathAutomaton {
  const tokens = segments.flatMap(tokensOf)
  const states = new Map<string, PathState>()
  const known = new Map<PathState, Map<number, PathState | null>>()

  const intern = (positions: readonly number[]): PathState => {
    const key = positions.join()
    const state = states.get(key) ?? createState(tokens, positions, states.size)
    states.set(key, state)
    return state
  }

  return {
    start: intern(reachable(tokens, [0])),
    step: (state, letter) => {
      const steps = known.get(state) ?? new Map<number, PathState | null>()
      known.set(state, steps)
      const before = steps.get(letter)
      if (before !== undefined) return before
      spend(state.positions.length)
      const taken = state.positions.flatMap((position) => successor(tokens, position, letter))
      const next = taken.length === 0 ? null : intern(reachable(tokens, taken))
      steps.set(letter, next)
      return next
    },
  }
}

function tokensOf(segment: GlobSegment): Token[] {
  if ('recursive' in segment) return [DEEP, INSIDE_DEEP]
  return segment.pieces.flatMap((piece, index) => [
    index === 0 ? SLASH : STAR,
    ...Array.from(piece, (char) => char.codePointAt(0) ?? 0),
  ])
}

function createState(tokens: readonly Token[], positions: readonly number[], id: number) {
  const end = tokens.length
  const accepts = positions.at(-1) === end
  const awaited = positions.flatMap((position) => tokens[position] ?? [])
  return {
    id,
    positions,
    accepts,
    isUniversal: accepts && positions.at(-2) === end - 1 && tokens[end - 1] === INSIDE_DEEP,
    letters: [...new Set(awaited.filter((token) => token >= 0))],
  }
}

function successor(tokens: readonly Token[], position: number, letter: number): number[] {
  const token = tokens[position]
  if (token === letter || (token === DEEP && letter === SLASH)) return [position + 1]
  return token === INSIDE_DEEP || (token === STAR && letter !== SLASH) ? [position] : []
}

/**
 * The positions, plus those after tokens that may be empty, without redundant ones. A position
 * inside a `**` subsumes all before it, and a `*` subsumes those before it in its segment. This
 * keeps the number of states small for patterns with many stars.
 */
function reachable(tokens: readonly Token[], positions: readonly number[]): number[] {
  const reached = new Set<number>()
  for (let position of positions) {
    while (!reached.has(position)) {
      reached.add(position)
      const token = tokens[position]
      if (token === STAR || token === INSIDE_DEEP) position += 1
      else if (token === DEEP) position += 2
    }
  }
  const kept: number[] = []
  let coveredFrom = Infinity
  for (const position of [...reached].toSorted((a, b) => b - a)) {
    if (position < coveredFrom) kept.push(position)
    const token = tokens[position]
    if (token === INSIDE_DEEP) break
    if (token === STAR) coveredFrom = Math.min(coveredFrom, tokens.lastIndexOf(SLASH, position) + 1)
  }
  return kept.toReversed()
}
