import { addGlob } from './glob-load.ts'
import { addShare, alikeTo, namesOf, noteDearest, type PathLoadDraft } from './path-load.ts'

/** The steps in which work is counted. bench: decide/worst */
const STEPS_OF_MATCH = 20
const STEPS_OF_LOOP = 3
const STEPS_OF_WAY = 3
const STEPS_OF_NODE = 2
const STEPS_OF_CHUNK = 3
/** Steps for the end of a tail, and for a pattern that another rule shares. */
const STEPS_OF_END = 2
const STEPS_OF_RESOURCE = 2
/** Number of names that similar chunks may share. Further names count for each chunk. */
const MAX_SHARED_NAMES = 8

/**
 * Adds a pattern that can be read. O(bytes of its text): it builds no index. See
 * `WalkParts` for heads, chunks and tails.
 *
 * The number of similar patterns that one path can match is bounded by its names, or its
 * characters, for their longest piece. 25,000 folders `pN` at any depth below `/home` therefore do
 * not count as 25,000 matches. A pattern without `*` adds no cost.
 */
export function addPattern(load: PathLoadDraft, text: string): void {
  if (!text.includes('*')) return
  const parts = cutAtLoops(text)
  const chunks = Math.max(0, parts.length - 2)
  const head = parts[0]!
  const tail = parts.length > 1 ? parts.at(-1)! : []
  const ends = tail.length > 0 ? STEPS_OF_END : 0
  let plain = STEPS_OF_RESOURCE + ends + (chunks > 0 ? 2 * STEPS_OF_WAY : 0)
  let steps = 0
  for (let index = 1; index <= chunks; index += 1) steps += addChunk(load, parts[index]!)
  for (const names of parts)
    for (const name of names)
      if (isGlob(name)) {
        plain += 1
        steps += addGlob(load, name)
      }
  load.plain += plain
  const { key, limit } = alikeTo(text)
  const shared = addShare(load, `p${key}`, {
    weight: 1,
    limit,
    steps:
      STEPS_OF_MATCH +
      ends +
      (parts.length - 1) * STEPS_OF_LOOP +
      3 * chunks * STEPS_OF_WAY +
      STEPS_OF_NODE * (namesFromStar(head) + namesFromStar(tail.toReversed())),
  })
  noteDearest(load, text, plain + steps + shared)
}

/**
 * The names before, between and after the `**`. In a run of both, `*` comes first, as in
 * `placesOf`.
 */
function cutAtLoops(text: string): string[][] {
  const parts: string[][] = [[]]
  let loops = false
  for (const name of text.split('/').slice(1)) {
    if (name === '**') loops = true
    else {
      if (loops && name !== '*') {
        parts.push([])
        loops = false
      }
      parts.at(-1)!.push(name)
    }
  }
  if (loops) parts.push([])
  return parts
}

function isGlob(name: string): boolean {
  return name.length > 1 && name.includes('*')
}

/**
 * Adds the places of a chunk. At each name of a path it has at most one place of each shape without
 * globs. The first place is free: a name belongs to the cost of the path, a glob to the cost of
 * finding the glob.
 */
function addChunk(load: PathLoadDraft, chunk: readonly string[]): number {
  let steps = 0
  let shape = ''
  let longest = 0
  let isPlain = true
  const addPlain = (more: number): void => {
    load.plain += more
    steps += more
  }
  for (const [index, name] of chunk.entries()) {
    // A glob is tried wherever the names before it end.
    if (index > 0 && isGlob(name)) addPlain(namesOf(longest))
    shape += name === '*' ? '*' : '-'
    isPlain &&= !isGlob(name)
    longest = Math.max(longest, name.replaceAll('*', '').length)
    if (index === 0 && name !== '*') continue
    const weight = namesOf(longest)
    if (index >= MAX_SHARED_NAMES) addPlain(weight * STEPS_OF_CHUNK)
    else {
      const { key, limit } = isPlain
        ? { key: `#${shape}`, limit: namesOf(1) }
        : alikeTo(chunk.slice(0, index + 1).join('/'))
      steps += addShare(load, `c${key}`, { weight, limit, steps: STEPS_OF_CHUNK })
    }
  }
  return steps
}

/** Number of names from the first one with a star. */
function namesFromStar(names: readonly string[]): number {
  const first = names.findIndex((name) => name.includes('*'))
  return first < 0 ? 0 : names.length - first
}
