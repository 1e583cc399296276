import { freshLetter, lettersOf, utf8Size } from './letters.ts'
import {
  createPathAutomaton,
  SLASH,
  type PathAutomaton,
  type PathState,
  type Segments,
} from './path-automaton.ts'
import { advance, ROOT, type PathGrammar } from './path-grammar.ts'

/** Asks for a path that every pattern of `inAll` and no pattern of `inNone` matches. */
export interface PathQuestion {
  readonly inAll: readonly Segments[]
  readonly inNone: readonly Segments[]
}

/** A node in the product of the automata, and the way that led to it. */
export interface ProductNode {
  readonly grammar: PathGrammar
  readonly inAll: readonly Live[]
  /** Only the patterns that may still match. */
  readonly inNone: readonly Live[]
  readonly letter: number
  /** Length of that way in bytes of UTF-8. */
  readonly bytes: number
  readonly before: ProductNode | null
}

interface Live {
  /** Which pattern of the question it is. */
  readonly index: number
  readonly automaton: PathAutomaton
  readonly state: PathState
}

/** All patterns of a question at once, walked letter by letter. */
export interface PathProduct {
  readonly start: ProductNode
  /** Whether every letter is one of ASCII. */
  readonly isAscii: boolean
  /** Every letter that may lead to a node of its own, each once. */
  readonly lettersAt: (node: ProductNode) => readonly number[]
  /** The node after one more letter; null when it cannot lead to an answer. */
  readonly step: (node: ProductNode, letter: number) => ProductNode | null
}

/** Null when the patterns name every code point, so that none can represent the others. */
export function createPathProduct(
  question: PathQuestion,
  spend: (steps: number) => void,
): PathProduct | null {
  const patterns = [...question.inAll, ...question.inNone]
  const letters = lettersOf(patterns)
  const fresh = freshLetter(letters)
  if (fresh === null) return null
  const live = patterns.map((segments, index) => {
    const automaton = createPathAutomaton(segments, spend)
    return { index, automaton, state: automaton.start }
  })
  const start: ProductNode = {
    grammar: ROOT,
    inAll: live.slice(0, question.inAll.length),
    inNone: live.slice(question.inAll.length),
    letter: 0,
    bytes: 0,
    before: null,
  }
  return {
    start,
    isAscii: [...letters, fresh].every((letter) => letter < 0x80),
    step,
    // A letter outside the patterns leads where `fresh` does.
    lettersAt: (node: ProductNode): readonly number[] => {
      // A pattern that takes only its own letters leaves no choice.
      const strict = node.inAll.find(
        ({ automaton, state }) => automaton.step(state, fresh) === null,
      )
      if (strict !== undefined) return [...new Set([SLASH, ...strict.state.letters])]
      const named = [...node.inAll, ...node.inNone].flatMap(({ state }) => state.letters)
      return [...new Set([fresh, SLASH, ...named])]
    },
  }
}

function step(node: ProductNode, letter: number): ProductNode | null {
  const grammar = advance(node.grammar, letter)
  if (grammar === null) return null
  const inAll = node.inAll.flatMap((live) => stepLive(live, letter))
  if (inAll.length < node.inAll.length) return null
  const inNone = node.inNone.flatMap((live) => stepLive(live, letter))
  if (inNone.some(({ state }) => state.isUniversal)) return null
  return { grammar, inAll, inNone, letter, bytes: node.bytes + utf8Size(letter), before: node }
}

function stepLive({ index, automaton, state }: Live, letter: number): Live[] {
  const next = automaton.step(state, letter)
  return next === null ? [] : [{ index, automaton, state: next }]
}

export function isAnswer({ grammar, inAll, inNone }: ProductNode): boolean {
  return (
    grammar.mayEnd &&
    inAll.every(({ state }) => state.accepts) &&
    !inNone.some(({ state }) => state.accepts)
  )
}

/** Equal for nodes from which the same paths are answers. */
export function keyOf({ grammar, inAll, inNone }: ProductNode): string {
  const ids = [...inAll, ...inNone].map(({ index, state }) => `${index}:${state.id}`)
  return `${grammar.id} ${ids.join(' ')}`
}

/** The path that led to a node. */
export function pathOf(node: ProductNode): string {
  const letters: string[] = []
  for (let at = node; at.before !== null; at = at.before)
    letters.push(String.fromCodePoint(at.letter))
  return letters.toReversed().join('') || '/'
}
