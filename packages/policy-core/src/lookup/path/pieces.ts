import { firstFrom, visitsOfCut, type Occurrences } from './occurrences.ts'

/** Called for each piece that occurs, with its end in the name. */
type Found<T> = (value: T, end: number) => void

/**
 * Pieces of globs to find in names. Most places in a tree of globs have one piece, which needs no
 * `Map`. Several pieces are grouped by length, so that only existing lengths are cut out of a name.
 *
 * Each search returns its cost.
 */
export class Pieces<T> {
  #only: { readonly text: string; readonly value: T } | null = null
  #byLength: Map<number, Map<string, T>> | null = null
  /** The keys of `#byLength`, ascending. */
  #lengths: number[] = []

  /** The value of the piece, created if the piece is new. */
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
      return text.length > name.length ? 0 : 1
    }
    return this.#eachLength(name.length, (length, values) => {
      const value = values.get(name.slice(0, length))
      if (value !== undefined) found(value, length)
      return visitsOfCut(length)
    })
  }

  /** Looks for pieces that the name ends in, none of it before `from`. */
  atEnd(name: string, from: number, found: Found<T>): number {
    if (this.#only !== null) {
      const { text, value } = this.#only
      if (name.length - text.length < from) return 0
      if (name.endsWith(text)) found(value, name.length)
      return 1
    }
    return this.#eachLength(name.length - from, (length, values) => {
      const value = values.get(name.slice(-length))
      if (value !== undefined) found(value, name.length)
      return visitsOfCut(length)
    })
  }

  /** Looks for the leftmost place of each piece from `from`, in a name of that many characters. */
  within(name: Occurrences, from: number, characters: number, found: Found<T>): number {
    const room = characters - from
    if (this.#only !== null) {
      const { text, value } = this.#only
      if (text.length > room) return 0
      const at = firstFrom(name.ofLength(text.length).positions.get(text) ?? [], from)
      if (at >= 0) found(value, at + text.length)
      return 1
    }
    return this.#eachLength(room, (length, values) => {
      const { positions, present } = name.ofLength(length)
      const texts = values.size <= present.length ? values.keys() : present
      for (const text of texts) {
        const value = values.get(text)
        const at = value === undefined ? -1 : firstFrom(positions.get(text) ?? [], from)
        if (value !== undefined && at >= 0) found(value, at + length)
      }
      return Math.max(1, Math.min(values.size, present.length))
    })
  }

  /** Calls for each length that fits into the room; returns the sum. */
  #eachLength(room: number, call: (length: number, values: Map<string, T>) => number): number {
    let visits = 0
    for (const length of this.#lengths) {
      if (length > room) break
      visits += call(length, this.#byLength!.get(length)!)
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
