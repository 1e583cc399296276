import { foldCase } from '../../path/path.ts'
import type { Branch } from './glob-branch.ts'
import { mostScan, mostWithin, type Pieces } from './pieces.ts'

/** What one name takes of a `GlobFinder`. */
export interface GlobWork {
  readonly visits: number
  readonly found: number
}

/** Pieces of one length, and the branches behind those that fold to one text. */
interface Group {
  readonly length: number
  readonly pieces: number
  readonly isOnly: boolean
  readonly branches: readonly (readonly Branch[])[]
}

const NO_WORK: GlobWork = { visits: 0, found: 0 }

/** Tells what a name of up to so many characters takes at most, whether letter case counts or not. */
export function createGlobCost(beginnings: Pieces<Branch>): (length: number) => GlobWork {
  const known = new Map<Pieces<Branch>, readonly Group[]>()
  const groupsOf = (pieces: Pieces<Branch>): readonly Group[] => {
    const groups = known.get(pieces) ?? readGroups(pieces)
    known.set(pieces, groups)
    return groups
  }

  /** Behind a branch, with so many characters of the name left. */
  const workOf = ({ open, ends, next }: Branch, room: number): GlobWork => {
    let { visits, found } = ends === null ? NO_WORK : workOfEnds(ends, room)
    if (open !== null) found += 1
    for (const { length, pieces, isOnly, branches } of next === null ? [] : groupsOf(next)) {
      if (isOnly) visits += mostScan(room)
      if (length > room) continue
      if (!isOnly) visits += 1 + mostWithin(pieces, length, room)
      const works = branches.map((all) => workOfAll(all, room - length))
      const places = room - length + 1
      visits += sumOfMost(works, 'visits', places)
      found += sumOfMost(works, 'found', places)
    }
    return { visits, found }
  }
  const workOfAll = (branches: readonly Branch[], room: number): GlobWork => {
    const [first] = branches
    if (first !== undefined && branches.length === 1) return workOf(first, room)
    return branches.map((branch) => workOf(branch, room)).reduce(sum, NO_WORK)
  }

  return (length) => {
    let total = NO_WORK
    for (const group of groupsOf(beginnings)) {
      if (group.isOnly || group.length <= length) total = sum(total, { visits: 1, found: 0 })
      if (group.length > length) continue
      // A name has one beginning of this length.
      const works = group.branches.map((all) => workOfAll(all, length - group.length))
      const [visits, found] = [sumOfMost(works, 'visits', 1), sumOfMost(works, 'found', 1)]
      total = sum(total, { visits, found })
    }
    return total
  }
}

function workOfEnds(ends: Pieces<number>, room: number): GlobWork {
  let visits = 0
  let found = 0
  for (const { length, isOnly } of ends.groups()) {
    if (length <= room) found += 1
    if (length <= room || isOnly) visits += 1
  }
  return { visits, found }
}

function readGroups(pieces: Pieces<Branch>): Group[] {
  return Array.from(pieces.groups(), ({ length, values, isOnly }) => {
    const byFold = new Map<string, Branch[]>()
    for (const [piece, branch] of values) {
      const folded = foldCase(piece)
      const others = byFold.get(folded)
      if (others === undefined) byFold.set(folded, [branch])
      else others.push(branch)
    }
    return { length, pieces: values.size, isOnly, branches: [...byFold.values()] }
  })
}

/** The sum of the `count` greatest. */
function sumOfMost(works: readonly GlobWork[], member: keyof GlobWork, count: number): number {
  const all = Float64Array.from(works, (work) => work[member])
  const greatest = all.length <= count ? all : all.toSorted().subarray(-count)
  return greatest.reduce((total, each) => total + each, 0)
}

function sum(a: GlobWork, b: GlobWork): GlobWork {
  return { visits: a.visits + b.visits, found: a.found + b.found }
}
