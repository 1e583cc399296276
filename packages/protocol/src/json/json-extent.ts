const [SPACE, QUOTE, BACKSLASH, COMMA, COLON] = [0x20, 0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Maximum of each number of an extent; measuring ends at the first that is exceeded. */
export interface ExtentLimits {
  readonly values: number
  readonly shapes: number
  readonly depth: number
}

/**
 * The size of a JSON text, or of its beginning up to the first excess. For a text that is not JSON
 * the numbers are arbitrary.
 */
export interface JsonExtent {
  /** Containers, and the values in them. */
  readonly values: number
  /** Members of all objects, including repeated ones. */
  readonly members: number
  /**
   * Different beginnings of the lists of member names, as they are written, of all objects. A name
   * that may be an array index begins a new one each time.
   */
  readonly shapes: number
  /** Maximum nesting of objects and arrays. */
  readonly depth: number
}

/** Code units between two pauses, some milliseconds of work. */
const UNITS_OF_A_STEP = 512 * 1024

/**
 * Measures a JSON text without parsing it, in one pass and little memory: millions of values take
 * tens of milliseconds, while parsing them takes seconds. Yields where other work may be done.
 */
export function* measureJson(text: string, limits: ExtentLimits): Generator<void, JsonExtent> {
  const counter = new Counter(limits)
  let index = countTokens(counter, text, 0)
  while (index < text.length && !counter.exceeds) {
    yield
    index = countTokens(counter, text, index)
  }
  return counter
}

/** Returns where the next step begins. */
function countTokens(counter: Counter, text: string, from: number): number {
  const end = Math.min(text.length, from + UNITS_OF_A_STEP)
  let index = from
  for (; index < end && !counter.exceeds; index += 1) {
    const unit = text.charCodeAt(index)
    // White space; other control characters are not JSON anyway.
    if (unit <= SPACE) continue
    if (unit === QUOTE) {
      const start = index + 1
      index = endOfString(text, index)
      counter.countString(start, index)
    } else if (unit === COLON) counter.countMember(text)
    else counter.count(unit)
  }
  return index
}

/**
 * A name that may be an array index, perhaps by its escapes. V8 reserves kilobytes for the members
 * of an object with one, which are no part of its hidden class.
 */
const MAY_BE_INDEX = /^\d|\\/

/** The objects whose first members have the same names in the same order, by the next name. */
type Shape = Map<string, Shape>

/** Counts by the first code unit of each token. */
class Counter implements JsonExtent {
  values = 1
  members = 0
  shapes = 0
  depth = 0
  exceeds = false
  readonly #limits: ExtentLimits
  /** Objects and arrays that are open. */
  #open = 0
  readonly #empty: Shape = new Map()
  /** The shape so far of the object at each depth. */
  readonly #shapeAt: Shape[] = []
  #before = 0
  /** The last string, which a colon makes the name of a member. */
  #start = 0
  #end = 0

  constructor(limits: ExtentLimits) {
    this.#limits = limits
  }

  count(unit: number): void {
    switch (unit) {
      case COMMA:
        this.#countValue()
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        this.#enter()
        break
      case CLOSE_ARRAY:
        this.#leave(OPEN_ARRAY)
        break
      case CLOSE_OBJECT:
        this.#leave(OPEN_OBJECT)
        break
    }
    this.#before = unit
  }

  countString(start: number, end: number): void {
    this.#before = QUOTE
    this.#start = start
    this.#end = end
  }

  countMember(text: string): void {
    const name = text.slice(this.#start, this.#end)
    this.members += 1
    this.#before = COLON
    const shape = this.#shapeAt[this.#open] ?? this.#empty
    let next = MAY_BE_INDEX.test(name) ? undefined : shape.get(name)
    if (next === undefined) {
      next = new Map()
      shape.set(name, next)
      this.shapes += 1
      if (this.shapes > this.#limits.shapes) this.exceeds = true
    }
    this.#shapeAt[this.#open] = next
  }

  #countValue(): void {
    this.values += 1
    // One may be of a container that turns out empty.
    if (this.values > this.#limits.values + 1) this.exceeds = true
  }

  #enter(): void {
    this.#countValue()
    this.#open += 1
    this.#shapeAt[this.#open] = this.#empty
    if (this.#open <= this.depth) return
    this.depth = this.#open
    if (this.depth > this.#limits.depth) this.exceeds = true
  }

  /** An empty container has no value in it. */
  #leave(opening: number): void {
    if (this.#before === opening) this.values -= 1
    if (this.#open > 0) this.#open -= 1
  }
}

/** The quotation mark that ends the string that begins at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  for (; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) break
    if (unit === BACKSLASH) index += 1
  }
  return index
}
