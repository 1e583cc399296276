/** Limits for the computed state of an index. Tests use small limits. */
export interface PathLimits {
  /**
   * Patterns up to which paths are read character by character, and characters in them.
   * bench: decide/paths, 10 resources against one RegExp
   */
  readonly charPatterns: number
  readonly charTexts: number
  /** Rows of that automaton. Once they are used up it stays unused. */
  readonly charRows: number
  /** States of reading name by name; at least 2. */
  readonly states: number
  /** Nodes in all states together, and in one. */
  readonly stateNodes: number
  readonly nodesOfState: number
  readonly transitions: number
  readonly matchSets: number
  /** Groups in all match sets together. */
  readonly matchGroups: number
  /** States and transitions that one path may add. */
  readonly addedByPath: number
  /** Paths that a full store has no answer for before it is emptied. */
  readonly missesUntilClear: number
}

/** A full index of 10,000 patterns takes about 4 MiB. bench: decide/compile */
export const PATH_LIMITS: PathLimits = {
  charPatterns: 128,
  charTexts: 16_384,
  charRows: 4_096,
  states: 10_240,
  stateNodes: 65_536,
  nodesOfState: 64,
  transitions: 32_768,
  matchSets: 6_144,
  matchGroups: 32_768,
  addedByPath: 256,
  missesUntilClear: 262_144,
}
