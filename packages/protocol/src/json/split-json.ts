import { JsonCounter } from './json-counter.ts'

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN] = [0x20, 0x09, 0x0a, 0x0d]
const ZERO = 0x30
/** Bytes between two pauses. bench: server/hostile */
const SLICE_BYTES = 16 * 1024
/**
 * A part and its delimiter have two bytes, its number and the delimiter nine in a text of 100 MB.
 */
const FRAME_BYTES_OF_BYTE = 5

/** An element of an array that is a member of the outermost object, such as one of `policies`. */
export interface JsonPart {
  /** In `packed`. */
  readonly start: number
  readonly end: number
  /** As `countJson` counts them. */
  readonly values: number
  /** Members of the largest object. */
  readonly members: number
}

export interface SplitJson {
  /** The text with the number of each part in its place; one blank stands for several. */
  readonly frame: Uint8Array
  /** The text of the parts; one blank stands for several. */
  readonly packed: Uint8Array
  readonly parts: readonly JsonPart[]
  /** In frame and parts together. */
  readonly values: number
  /** Members of the largest object outside of the parts. */
  readonly members: number
}

export interface SplitOptions {
  readonly maxValues: number
  readonly maxBytesOfFrame: number
  /** Allocates uninitialized memory. */
  readonly allocate: (bytes: number) => Uint8Array
}

/**
 * Splits a JSON text into parts that can be parsed one by one. The text is valid JSON exactly when
 * its frame and each of its parts are: a part stands where a value may stand. Yields after each
 * slice; gives null for more than `maxValues` values. A frame longer than `maxBytesOfFrame` is cut
 * off one byte behind it.
 */
export function* splitJson(
  text: Uint8Array,
  { maxValues, maxBytesOfFrame, allocate }: SplitOptions,
): Generator<void, SplitJson | null> {
  const mostBytesOfFrame = FRAME_BYTES_OF_BYTE * text.length
  const frame = new Bytes(allocate(Math.min(mostBytesOfFrame, maxBytesOfFrame + 1)))
  const state = new Splitter(text, { frame, packed: new Bytes(allocate(text.length)) })
  for (let start = 0; start < text.length; start += SLICE_BYTES) {
    state.read(start, Math.min(start + SLICE_BYTES, text.length))
    if (state.values > maxValues) return null
    yield
  }
  return state.end()
}

/** The state of splitting the text. */
class Splitter {
  readonly #text: Uint8Array
  readonly #counter = new JsonCounter()
  readonly #frame: Bytes
  readonly #packed: Bytes
  readonly #parts: JsonPart[] = []
  #isOuterObject = false
  /** Whether elements at depth 2 are parts. */
  #isSplitting = false
  #isInString = false
  #isEscaped = false
  #isAfterBlank = false
  /** -1 outside of parts. */
  #partStart = -1
  #valuesBeforePart = 0
  #membersOfFrame = 0

  constructor(text: Uint8Array, rooms: { readonly frame: Bytes; readonly packed: Bytes }) {
    this.#text = text
    this.#frame = rooms.frame
    this.#packed = rooms.packed
  }

  get values(): number {
    return this.#counter.values
  }

  read(start: number, end: number): void {
    for (let index = start; index < end; index += 1) {
      const byte = this.#text[index] ?? 0
      if (this.#isInString) this.#readInString(byte)
      else if (isBlank(byte)) this.#isAfterBlank = true
      else this.#readToken(byte)
    }
  }

  end(): SplitJson {
    if (this.#partStart >= 0) this.#endPart()
    const [frame, packed] = [this.#frame.written(), this.#packed.written()]
    const members = Math.max(this.#membersOfFrame, this.#counter.members)
    return { frame, packed, parts: this.#parts, values: this.values, members }
  }

  #readInString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) this.#isInString = false
    this.#keep(byte)
  }

  #readToken(byte: number): void {
    if (this.#isSplitting && this.#counter.depth === 2) {
      const isDelimiter = byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT
      if (isDelimiter && this.#partStart >= 0) this.#endPart()
      else if (!isDelimiter && this.#partStart < 0) this.#beginPart()
    }
    if (this.#isAfterBlank) this.#keep(SPACE)
    this.#keep(byte)
    this.#isAfterBlank = false
    this.#count(byte)
  }

  #count(byte: number): void {
    this.#counter.count(byte)
    if (byte === QUOTE) this.#isInString = true
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#open(byte)
  }

  #open(byte: number): void {
    if (this.#counter.depth === 1) this.#isOuterObject = byte === OPEN_OBJECT
    if (this.#counter.depth === 2) this.#isSplitting = this.#isOuterObject && byte === OPEN_ARRAY
  }

  #beginPart(): void {
    this.#partStart = this.#packed.length
    // The number of values before the part gives its count at the end.
    this.#valuesBeforePart = this.values - 1
    this.#membersOfFrame = Math.max(this.#membersOfFrame, this.#counter.members)
    this.#counter.members = 0
  }

  #endPart(): void {
    const values = this.values - this.#valuesBeforePart
    for (const digit of String(this.#parts.length)) this.#frame.push(ZERO + Number(digit))
    const [start, end] = [this.#partStart, this.#packed.length]
    this.#parts.push({ start, end, values, members: this.#counter.members })
    this.#counter.members = 0
    this.#partStart = -1
  }

  #keep(byte: number): void {
    if (this.#partStart < 0) this.#frame.push(byte)
    else this.#packed.push(byte)
  }
}

/**
 * A buffer that is allocated at full size: unwritten pages are free, and growing would copy them.
 * Bytes that do not fit are dropped. bench: server/hostile
 */
class Bytes {
  length = 0
  readonly #room: Uint8Array

  constructor(room: Uint8Array) {
    this.#room = room
  }

  push(byte: number): void {
    if (this.length === this.#room.length) return
    this.#room[this.length] = byte
    this.length += 1
  }

  written(): Uint8Array {
    return this.#room.subarray(0, this.length)
  }
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === TAB || byte === CARRIAGE_RETURN
}
