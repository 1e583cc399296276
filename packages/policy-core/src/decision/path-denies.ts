import { labelPatterns } from '../lookup/path/pattern-labels.ts'
import { PatternStep } from '../lookup/path/pattern-step.ts'
import { buildPatternTrie, IS_LOOP, type PatternTrie } from '../lookup/path/pattern-trie.ts'
import { NONE, ROOT } from '../lookup/path/token-trie.ts'
import type { GlobSegment } from '../path/glob.ts'
import { foldCase, segmentsOf } from '../path/path.ts'
import { FILESYSTEM_ACTIONS, isFilesystemAction, type FilesystemAction } from '../policy/policy.ts'
import { runSteps } from '../steps.ts'
import { requireCompiled, type CompiledPolicy } from './compiled-policy.ts'
import { enforcedAt } from './conditions.ts'
import { linearRules } from './linear-rules.ts'

/** The effect of the deny rules on one path and on the paths below it. */
export interface DenyPlace {
  /** The actions that a rule denies on the path itself. */
  readonly denies: Readonly<Record<FilesystemAction, boolean>>
  /** The actions that a rule denies on every path below. */
  readonly deniesAllBelow: Readonly<Record<FilesystemAction, boolean>>
  /** Whether a rule may deny some path below. False means that a walk can stop here. */
  readonly mayDenyBelow: boolean
}

/** The deny rules about paths, followed name by name, for a walk over a directory tree. */
export interface PathDenies {
  /** Returns the place of a canonical path, such as the root of a walk. */
  readonly at: (path: string) => DenyPlace
  /**
   * Returns the place of a name in a directory. Takes one look-up for a name that is in no pattern.
   * The name is any text without `/`.
   */
  readonly below: (directory: DenyPlace, name: string) => DenyPlace
  /** The canonical paths that a rule denies without a wildcard, or with a final `**` only. */
  readonly literals: readonly string[]
}

/**
 * Prepares the deny rules for a walk over many paths: `at(path).denies[action]` tells whether a
 * deny rule matches this canonical path and action. Allows play no part, so it is no decision.
 * Takes O(resources), and keeps the places that it has met.
 *
 * Throws `PolicyError` with `ERR_OPTION_INVALID` for a policy that is not compiled.
 */
export function pathDenies(
  policy: CompiledPolicy,
  options: { readonly now?: number | undefined } = {},
): PathDenies {
  requireCompiled('policy', policy)
  const patterns = denyPatterns(enforcedAt(policy, options.now))
  const groups = patterns.map(({ segments }, group) => ({ segments, group }))
  const trie = runSteps(buildPatternTrie(runSteps(labelPatterns(groups))))
  const step = new PatternStep(trie)
  const known = new Map<string, DenyState>()

  const stateOf = (nodes: Iterable<number>): DenyState => {
    const sorted = Int32Array.from(nodes).toSorted()
    const key = sorted.join()
    const state = known.get(key) ?? createState(sorted, trie, patterns)
    known.set(key, state)
    return state
  }
  const below = (directory: DenyPlace, name: string): DenyState => {
    const state = directory as DenyState
    const text = policy.caseSensitive ? name : foldCase(name)
    const literal = trie.labels.literals.get(text)
    const labels = literal === undefined ? [] : [literal]
    trie.globFinder.find(text, labels)
    if (labels.length > 0) return stateOf(step.after(state.nodes, labels))
    return (state.afterOther ??= stateOf(step.after(state.nodes, labels)))
  }
  const loop = trie.loop[ROOT]!
  const root = stateOf(loop === NONE ? [ROOT] : [ROOT, loop])

  return {
    at: (path) => segmentsOf(path).reduce<DenyState>(below, root),
    below,
    literals: [...new Set(patterns.flatMap(({ segments }) => literalOf(segments) ?? []))],
  }
}

interface DenyState extends DenyPlace {
  /** The active nodes of the trie, ascending. */
  readonly nodes: Int32Array
  /** The state below, for a name that no pattern mentions; null before its first use. */
  afterOther: DenyState | null
}

interface DenyPattern {
  readonly segments: readonly GlobSegment[]
  readonly actions: readonly FilesystemAction[]
}

function denyPatterns(policy: CompiledPolicy): DenyPattern[] {
  return linearRules(policy)
    .filter(
      ({ active, domain, identity }) =>
        active && domain === 'filesystem' && identity.decision === 'deny',
    )
    .flatMap(({ actions, resources }) =>
      resources.flatMap((resource) =>
        resource.domain === 'filesystem' && resource.segments !== null
          ? [{ segments: resource.segments, actions: actions.filter(isFilesystemAction) }]
          : [],
      ),
    )
}

function createState(
  nodes: Int32Array,
  trie: PatternTrie,
  patterns: readonly DenyPattern[],
): DenyState {
  const { groups, groupStart, traits } = trie
  const [denies, deniesAllBelow] = [noActions(), noActions()]
  for (const node of nodes) {
    const isLoop = (traits[node]! & IS_LOOP) !== 0
    for (const group of groups.subarray(groupStart[node], groupStart[node + 1])) {
      for (const action of patterns[group]!.actions) {
        denies[action] = true
        deniesAllBelow[action] ||= isLoop
      }
    }
  }
  const mayDenyBelow = nodes.some((node) => traits[node] !== 0)
  return { denies, deniesAllBelow, mayDenyBelow, nodes, afterOther: null }
}

function noActions(): Record<FilesystemAction, boolean> {
  const none = FILESYSTEM_ACTIONS.map((action) => [action, false] as const)
  return Object.fromEntries(none) as Record<FilesystemAction, boolean>
}

/** Null when a pattern has a wildcard before its end. */
function literalOf(segments: readonly GlobSegment[]): string | null {
  const names: string[] = []
  for (const [index, segment] of segments.entries()) {
    if ('recursive' in segment) {
      if (index < segments.length - 1) return null
    } else {
      if (segment.pieces.length > 1) return null
      names.push(segment.pieces.join())
    }
  }
  return `/${names.join('/')}`
}
