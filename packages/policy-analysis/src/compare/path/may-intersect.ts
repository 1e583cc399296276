import type { GlobSegment, Segments } from '@palisade/policy-core/internal'

type Name = Extract<GlobSegment, { readonly pieces: readonly string[] }>

/**
 * Tells cheaply whether two patterns may share a path. `false` is certain, `true` is not. Compares
 * only the ends of whole segments. O(segments × segments).
 */
export function mayIntersect(a: Segments, b: Segments): boolean {
  // Row for the end of `a`; the loop adds the segments of `a` from last to first.
  let rest = rowOf(null, b, [])
  for (let index = a.length - 1; index >= 0; index -= 1) rest = rowOf(a[index] ?? null, b, rest)
  return rest[0] === true
}

/**
 * For one segment of `a` and each position in `b`: whether the rests from there may share a path.
 * `next` is the row of the following segment; a null segment is the end of `a`.
 */
function rowOf(segment: GlobSegment | null, b: Segments, next: readonly boolean[]): boolean[] {
  const row = Array<boolean>(b.length + 1).fill(false)
  for (let index = b.length; index >= 0; index -= 1) {
    const other = b[index]
    const behind = row[index + 1] ?? false
    if (segment === null) row[index] = other === undefined || ('recursive' in other && behind)
    else if ('recursive' in segment) row[index] = next[index] === true || behind
    else if (other === undefined) row[index] = false
    else if ('recursive' in other) row[index] = next[index] === true || behind
    else row[index] = next[index + 1] === true && mayBeSame(segment, other)
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
