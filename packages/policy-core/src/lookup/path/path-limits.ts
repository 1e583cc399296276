/** How much an index may keep of what it works out. Tests make these small. */
export interface PathLimits {
  /** Patterns up to which paths are read character by character, and characters in them. */
  readonly charPatterns: number
  readonly charTexts: number
  /** Rows of that reading. When they are used up it ends for good. */
  readonly charRows: number
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
  /** Paths that are answered without the full store before it is emptied. */
  readonly walksUntilClear: number
}

/** Less than 4 MiB in all. */
export const PATH_LIMITS: PathLimits = {
  charPatterns: 200,
  charTexts: 16_384,
  charRows: 4_096,
  states: 16_384,
  stateNodes: 65_536,
  nodesOfState: 64,
  transitions: 32_768,
  matchSets: 4_096,
  matchGroups: 65_536,
  addedByPath: 256,
  walksUntilClear: 262_144,
}
