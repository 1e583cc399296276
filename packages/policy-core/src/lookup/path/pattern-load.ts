import { addGlob } from './glob-load.ts'
import { addShare, alikeTo, namesOf, noteDearest, type PathLoadDraft } from './path-load.ts'

/** The steps in which work is counted. bench: worst */
const STEPS_OF_MATCH = 20
const STEPS_OF_LOOP = 3
const STEPS_OF_WAY = 3
const STEPS_OF_NODE = 2
const STEPS_OF_CHUNK = 3
/** A pattern whose tail is read, and one that another rule has as well. */
const STEPS_OF_END = 2
const STEPS_OF_RESOURCE = 2
/** Names of a chunk up to which alike ones share; beyond them each counts for itself. */
const MAX_SHARED_NAMES = 8

/**
 * Adds a pattern that can be read. O(bytes of its text): it builds no index. See
 * `WalkParts` for heads, chunks and tails.
 *
 * A path has no more of the patterns that are alike than it has names, or characters, for their
 * longest piece: 25,000 folders `pN` at any depth below `/home` do not count as so many matches. A
 * pattern without `*` adds nothing to what any path takes.
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
 * The names before, between and behind the `**`; of a run of both, `*` comes first, as in
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
 * Adds the places of a chunk. At each name of a path it has one place at most of each shape without
 * globs. The first is a part of any path where it is a name, and of finding the glob where it is
 * one.
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

/** How many names there are from the first with a star. */
function namesFromStar(names: readonly string[]): number {
  const first = names.findIndex((name) => name.includes('*'))
  return first < 0 ? 0 : names.length - first
}
