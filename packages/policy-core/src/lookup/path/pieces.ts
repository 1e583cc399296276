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
    for (const [length, values] of this.#byLength ?? []) {
      const value = length <= name.length ? values.get(name.slice(0, length)) : undefined
      if (value !== undefined) found(value, length)
    }
    return this.#byLength?.size ?? 0
  }

  /** Looks for pieces that the name ends in, none of it before `from`. */
  atEnd(name: string, from: number, found: Found<T>): number {
    if (this.#only !== null) {
      const { text, value } = this.#only
      if (name.length - text.length >= from && name.endsWith(text)) found(value, name.length)
      return 1
    }
    for (const [length, values] of this.#byLength ?? []) {
      const value = name.length - length < from ? undefined : values.get(name.slice(-length))
      if (value !== undefined) found(value, name.length)
    }
    return this.#byLength?.size ?? 0
  }

  /** Looks for the leftmost place of each piece that occurs in the name from `from`. */
  within(name: string, from: number, found: Found<T>): number {
    if (this.#only !== null) {
      const { text, value } = this.#only
      const at = name.indexOf(text, from)
      if (at >= 0) found(value, at + text.length)
      return 1
    }
    let visits = 0
    for (const [length, values] of this.#byLength ?? [])
      visits += findLeftmost(values, { name, from, length }, found)
    return visits
  }

  #put(text: string, value: T): T {
    const byLength = (this.#byLength ??= new Map<number, Map<string, T>>())
    const sameLength = byLength.get(text.length)
    if (sameLength === undefined) byLength.set(text.length, new Map([[text, value]]))
    else sameLength.set(text, value)
    return value
  }
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
  const starts = name.length - length - from + 1
  if (starts <= 0) return 1
  if (values.size <= starts) {
    for (const [piece, value] of values) {
      const at = name.indexOf(piece, from)
      if (at >= 0) found(value, at + length)
    }
    return values.size
  }
  const seen = new Set<T>()
  for (let at = from; at + length <= name.length && seen.size < values.size; at += 1) {
    const value = values.get(name.slice(at, at + length))
    if (value === undefined || seen.has(value)) continue
    seen.add(value)
    found(value, at + length)
  }
  return starts
}
