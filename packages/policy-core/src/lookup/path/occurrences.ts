/** Characters that a search for one text passes, at worst, in the time of one `Map` look-up. */
const SCANNED_PER_VISIT = 16
/** Characters that cutting a text out of a name and hashing it passes in that time. */
const HASHED_PER_VISIT = 64
/** From this length on the engine's search may compare a text anew at each character. */
const LONG_TEXT = 250
const LONG_VISITS_PER_CHARACTER = 2

/** Positions of the pieces between two `*`, for one name at a time. */
export class Occurrences {
  readonly #byLength = new Map<number, OfLength>()
  #name = ''
  /** Grows with each name. */
  #turn = 0
  #visits = 0

  /** Adds a text to look for. Before any name. */
  add(text: string): void {
    let known = this.#byLength.get(text.length)
    if (known === undefined)
      this.#byLength.set(text.length, (known = { turn: 0, positions: new Map(), present: [] }))
    if (!known.positions.has(text)) known.positions.set(text, [])
  }

  /** Texts looked for so far, in all names. */
  get visits(): number {
    return this.#visits
  }

  begin(name: string): void {
    this.#name = name
    this.#turn += 1
  }

  /** Searched once in a name for all globs. Valid until the next name. */
  ofLength(length: number): Present {
    const known = this.#byLength.get(length)
    if (known === undefined) return { positions: new Map(), present: [] }
    if (known.turn !== this.#turn) this.#read(known, length)
    return known
  }

  #read(known: OfLength, length: number): void {
    const { positions, present } = known
    for (const text of present) positions.get(text)!.length = 0
    present.length = 0
    known.turn = this.#turn
    const name = this.#name
    const cut = (name.length - length + 1) * visitsOfCut(length)
    const scan = positions.size * visitsOfScan(length, name.length)
    if (scan <= cut) this.#visits += scan + this.#scan(known)
    else {
      this.#visits += cut
      this.#cut(known, length)
    }
  }

  /** Returns how often the texts occur. */
  #scan({ positions, present }: OfLength): number {
    let count = 0
    for (const [text, found] of positions) {
      for (let at = this.#name.indexOf(text); at >= 0; at = this.#name.indexOf(text, at + 1))
        found.push(at)
      if (found.length > 0) present.push(text)
      count += found.length
    }
    return count
  }

  #cut({ positions, present }: OfLength, length: number): void {
    const name = this.#name
    for (let at = 0; at + length <= name.length; at += 1) {
      const text = name.slice(at, at + length)
      const found = positions.get(text)
      if (found === undefined) continue
      if (found.length === 0) present.push(text)
      found.push(at)
    }
  }
}

export interface Present {
  /** Start positions by text, ascending; empty for a text that does not occur. */
  readonly positions: ReadonlyMap<string, readonly number[]>
  /** The texts that occur. */
  readonly present: readonly string[]
}

interface OfLength extends Present {
  turn: number
  readonly positions: Map<string, number[]>
  readonly present: string[]
}

/** The cost of a search for a text of this length in so many characters, in looks into a `Map`. */
export function visitsOfScan(length: number, characters: number): number {
  return length < LONG_TEXT
    ? 1 + Math.floor(characters / SCANNED_PER_VISIT)
    : 1 + characters * LONG_VISITS_PER_CHARACTER
}

/** The cost of cutting out a text of this length and looking it up. */
export function visitsOfCut(length: number): number {
  return 1 + Math.floor(length / HASHED_PER_VISIT)
}

/** The first of ascending positions that is not before `from`; -1 without one. */
export function firstFrom(positions: readonly number[], from: number): number {
  let low = 0
  let high = positions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (positions[middle]! < from) low = middle + 1
    else high = middle
  }
  return positions[low] ?? -1
}
