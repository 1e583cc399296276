/** Is told of each piece that occurs, and where in the name it ends. */
type Found<T> = (value: T, end: number) => void

/**
 * Pieces of globs, to be looked for in names. Most places in a tree of globs have one piece, for
 * which two `Map`s were nearly all of the memory. Where there are more they are kept by their
 * length, so that only the lengths that occur are cut out of a name.
 *
 * Each way of looking gives back how much was looked at.
 */
export class Pieces<T> {
  #only: { readonly text: string; readonly value: T } | null = null
  #byLength: Map<number, Map<string, T>> | null = null
  /** The keys of `#byLength`, ascending. */
  #lengths: number[] = []

  /** What the piece stands for; made when it is new. */
  getOrAdd(text: string, create: () => T): T {
    if (this.#only === null && this.#byLength === null) {
      this.#only = { text, value: create() }
      return this.#only.value
    }
    if (this.#only?.text === text) return this.#only.value
    this.#byLength ??= new Map()
    if (this.#only !== null) this.#put(this.#only.text, this.#only.value)
    this.#only = null
    const known = this.#byLength.get(text.length)?.get(text)
    return known === undefined ? this.#put(text, create()) : known
  }

  /** Looks for pieces that the name begins with. */
  atStart(name: string, found: Found<T>): number {
    if (this.#only !== null) {
      const { text, value } = this.#only
      if (name.startsWith(text)) found(value, text.length)
      return 1
    }
    return this.#eachLength(name.length, (length, values) => {
      const value = values.get(name.slice(0, length))
      if (value !== undefined) found(value, length)
    })
  }

  /** Looks for pieces that the name ends in, none of it before `from`. */
  atEnd(name: string, from: number, found: Found<T>): number {
    if (this.#only !== null) {
      const { text, value } = this.#only
      if (name.length - text.length >= from && name.endsWith(text)) found(value, name.length)
      return 1
    }
    return this.#eachLength(name.length - from, (length, values) => {
      const value = values.get(name.slice(-length))
      if (value !== undefined) found(value, name.length)
    })
  }

  /** Looks for the leftmost place of each piece that occurs in the name from `from`. */
  within(name: string, from: number, found: Found<T>): number {
    if (this.#only !== null) {
      const { text, value } = this.#only
      const at = name.indexOf(text, from)
      if (at >= 0) found(value, at + text.length)
      return mostScan(name.length - from)
    }
    let visits = 0
    this.#eachLength(name.length - from, (length, values) => {
      visits += findLeftmost(values, { name, from, length }, found)
    })
    return visits
  }

  /** All pieces of each length, the shortest first. */
  *groups(): Generator<PiecesOfLength<T>> {
    if (this.#only !== null) {
      const { text, value } = this.#only
      yield { length: text.length, values: new Map([[text, value]]), isOnly: true }
    }
    for (const length of this.#lengths)
      yield { length, values: this.#byLength!.get(length)!, isOnly: false }
  }

  /** Calls for each length that fits into the room; returns how many there are. */
  #eachLength(room: number, call: (length: number, values: Map<string, T>) => void): number {
    let visits = 0
    for (const length of this.#lengths) {
      if (length > room) break
      visits += 1
      call(length, this.#byLength!.get(length)!)
    }
    return visits
  }

  #put(text: string, value: T): T {
    const byLength = (this.#byLength ??= new Map<number, Map<string, T>>())
    const sameLength = byLength.get(text.length)
    if (sameLength === undefined) {
      byLength.set(text.length, new Map([[text, value]]))
      const after = this.#lengths.findIndex((length) => length > text.length)
      this.#lengths.splice(after < 0 ? this.#lengths.length : after, 0, text.length)
    } else sameLength.set(text, value)
    return value
  }
}

export interface PiecesOfLength<T> {
  readonly length: number
  readonly values: ReadonlyMap<string, T>
  /** There is no other piece. */
  readonly isOnly: boolean
}

/** Characters that a search passes in the time of one look into a `Map`. */
const SCANNED_PER_VISIT = 128

/** What a search for one piece in so many characters costs. */
export function mostScan(length: number): number {
  return 1 + Math.floor(Math.max(0, length) / SCANNED_PER_VISIT)
}

/** What `within` costs at most for so many pieces of one length, in so many characters. */
export function mostWithin(pieces: number, length: number, room: number): number {
  return Math.min(pieces * mostScan(room), Math.max(0, room - length + 1) * mostScan(length))
}

interface Span {
  readonly name: string
  readonly from: number
  readonly length: number
}

/** By pieces or by places in the name, whichever are fewer. */
function findLeftmost<T>(
  values: ReadonlyMap<string, T>,
  { name, from, length }: Span,
  found: Found<T>,
): number {
  const cut = (name.length - length - from + 1) * mostScan(length)
  const scanned = values.size * mostScan(name.length - from)
  if (scanned <= cut) {
    for (const [piece, value] of values) {
      const at = name.indexOf(piece, from)
      if (at >= 0) found(value, at + length)
    }
    return scanned
  }
  const seen = new Set<T>()
  for (let at = from; at + length <= name.length && seen.size < values.size; at += 1) {
    const value = values.get(name.slice(at, at + length))
    if (value === undefined || seen.has(value)) continue
    seen.add(value)
    found(value, at + length)
  }
  return cut
}
