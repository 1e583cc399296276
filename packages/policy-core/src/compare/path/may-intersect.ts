import type { Segments } from '../../language/path-automaton.ts'
import type { GlobSegment } from '../../path/glob.ts'

type Name = Extract<GlobSegment, { readonly pieces: readonly string[] }>

/**
 * Tells cheaply whether two patterns may share a path. `false` is certain, `true` is not. Compares
 * only the ends of whole segments. O(segments × segments).
 */
export function mayIntersect(a: Segments, b: Segments): boolean {
  // Row for the end of `a`; the loop adds the segments of `a` from last to first.
  let rest = rowOf(null, b, [])
  for (let place = a.length - 1; place >= 0; place -= 1) rest = rowOf(a[place] ?? null, b, rest)
  return rest[0] === true
}

/**
 * For one segment of `a` and each position in `b`: whether the rests from there may share a path.
 * `next` is the row of the following segment; a null segment is the end of `a`.
 */
function rowOf(segment: GlobSegment | null, b: Segments, next: readonly boolean[]): boolean[] {
  const row = Array<boolean>(b.length + 1).fill(false)
  for (let place = b.length; place >= 0; place -= 1) {
    const other = b[place]
    const behind = row[place + 1] ?? false
    if (segment === null) row[place] = other === undefined || ('recursive' in other && behind)
    else if ('recursive' in segment) row[place] = next[place] === true || behind
    else if (other === undefined) row[place] = false
    else if ('recursive' in other) row[place] = next[place] === true || behind
    else row[place] = next[place + 1] === true && mayBeSame(segment, other)
  }
  return row
}

function mayBeSame({ pieces: a }: Name, { pieces: b }: Name): boolean {
  const [startA = '', startB = ''] = [a[0], b[0]]
  if (a.length === 1 && b.length === 1) return startA === startB
  if (a.length === 1) return hasEnds(startA, b)
  if (b.length === 1) return hasEnds(startB, a)
  const [endA = '', endB = ''] = [a.at(-1), b.at(-1)]
  const isStartAlike = startA.startsWith(startB) || startB.startsWith(startA)
  return isStartAlike && (endA.endsWith(endB) || endB.endsWith(endA))
}

function hasEnds(text: string, pieces: readonly string[]): boolean {
  return text.startsWith(pieces[0] ?? '') && text.endsWith(pieces.at(-1) ?? '')
}
