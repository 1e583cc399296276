import { hasOneOwner, ownerOfName } from './registrable-domain.ts'
import { mayOpenDirectory, segmentsOf } from './sensitive-path.ts'
import type { Candidate } from './write-resource.ts'

type Candidates = readonly [Candidate, ...Candidate[]]

/** A resource that replaces those of several candidates. */
export interface Wildcard {
  readonly resource: string
  readonly candidates: Candidates
}

export interface WildcardRules {
  /** Number of candidates that a wildcard must replace. */
  readonly least: number
  /** Whether there is enough evidence, by the branches below the base of the wildcard. */
  readonly isBacked: (branches: readonly Candidates[]) => boolean
}

/**
 * Finds the wildcards for names of one domain, or files of one directory: first one level below a
 * common parent, then all levels below the deepest common parent of the rest. A candidate without a
 * wildcard keeps its resource.
 */
export function findWildcards(
  candidates: readonly Candidate[],
  rules: WildcardRules,
): readonly Wildcard[] {
  const trees = groupNodes(candidates.flatMap(nodesOf), ({ tree }) => tree)
  return trees.flatMap((nodes) => findInTree(nodes, rules))
}

/** A candidate with its position in a tree of names, from the right, or of directories. */
interface Node {
  readonly candidate: Candidate
  /** Only nodes of one tree have a common wildcard. */
  readonly tree: string
  readonly segments: readonly string[]
  readonly mayOpen: (base: readonly string[]) => boolean
}

type Nodes = readonly [Node, ...Node[]]

/** Addresses have no tree: a range of them belongs to different owners. */
function nodesOf(candidate: Candidate): readonly Node[] {
  const { action, program, host, port, path } = candidate.target
  if (path !== null) {
    const segments = segmentsOf(path)
    const tree = JSON.stringify([action, program, leastDirectory(segments)])
    return [{ candidate, tree, segments, mayOpen: mayOpenDirectory }]
  }
  if (host === null) return []
  const { domain } = ownerOfName(host)
  if (domain === null || domain === host) return []
  const least = domain.split('.').length
  return [
    {
      candidate,
      tree: JSON.stringify([action, program, port, domain]),
      segments: host.split('.').toReversed(),
      mayOpen: (base) => base.length >= least && hasOneOwner(base.toReversed().join('.')),
    },
  ]
}

/** The outermost directory that holds the path and may be opened. */
function leastDirectory(segments: readonly string[]): readonly string[] {
  const length = segments.findIndex((_, end) => mayOpenDirectory(segments.slice(0, end)))
  return length === -1 ? segments : segments.slice(0, length)
}

function findInTree(nodes: Nodes, { least, isBacked }: WildcardRules): readonly Wildcard[] {
  const accepts = (base: readonly string[], some: Nodes): boolean => {
    if (some.length < least || !some[0].mayOpen(base)) return false
    const branches = groupNodes(some, ({ segments }) => segments[base.length] ?? '')
    return isBacked(branches.map(candidatesOf))
  }
  const flat = groupNodes(nodes, (node) => parentOf(node).join('/')).filter((siblings) =>
    accepts(parentOf(siblings[0]), siblings),
  )
  const writeFlat = (siblings: Nodes) => writeWildcard(parentOf(siblings[0]), '*', siblings)
  const taken = new Set(flat.flat())
  const [first, ...others] = nodes.filter((node) => !taken.has(node))
  if (first === undefined) return flat.map(writeFlat)
  const base = commonParent([first, ...others])
  if (!accepts(base, [first, ...others])) return flat.map(writeFlat)
  const isInside = ([node]: Nodes): boolean => {
    const parent = parentOf(node)
    return base.every((each, index) => each === parent[index])
  }
  const deep: Nodes = [first, ...others, ...flat.filter(isInside).flat()]
  return [
    ...flat.filter((siblings) => !isInside(siblings)).map(writeFlat),
    writeWildcard(base, '**', deep),
  ]
}

function groupNodes(nodes: readonly Node[], keyOf: (node: Node) => string): readonly Nodes[] {
  // No group is empty.
  return [...Map.groupBy(nodes, keyOf).values()] as unknown as readonly Nodes[]
}

function parentOf({ segments }: Node): readonly string[] {
  return segments.slice(0, -1)
}

function commonParent([first, ...others]: Nodes): readonly string[] {
  return others.reduce((common, { segments }) => {
    const end = common.findIndex(
      (each, index) => index >= segments.length - 1 || each !== segments[index],
    )
    return end === -1 ? common : common.slice(0, end)
  }, parentOf(first))
}

function candidatesOf([first, ...others]: Nodes): Candidates {
  return [first.candidate, ...others.map(({ candidate }) => candidate)]
}

function writeWildcard(base: readonly string[], stars: '*' | '**', nodes: Nodes): Wildcard {
  const { path, port } = nodes[0].candidate.target
  const resource =
    path === null
      ? `${stars}.${base.toReversed().join('.')}:${port}`
      : `/${base.join('/')}/${stars}`
  return { resource, candidates: candidatesOf(nodes) }
}
