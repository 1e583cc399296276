const [COMMA, COLON] = [0x2c, 0x3a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Counts the values and members of a JSON text by its tokens, without parsing it. For a text that
 * is not JSON the numbers are arbitrary.
 */
export class JsonCounter {
  /** Containers, and the values in them. */
  values = 1
  /** Members of the largest object, including repeated ones. Callers may reset it to 0. */
  members = 0
  /** Objects and arrays that are open. */
  depth = 0
  /** Members so far of the object at each depth. */
  readonly #membersAt: number[] = []
  #before = 0

  /** Takes the first byte of the next token. */
  count(byte: number): void {
    switch (byte) {
      case COMMA:
        this.values += 1
        break
      case COLON:
        this.#countMember()
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        this.values += 1
        this.depth += 1
        this.#membersAt[this.depth] = 0
        break
      case CLOSE_ARRAY:
        this.#close(OPEN_ARRAY)
        break
      case CLOSE_OBJECT:
        this.#close(OPEN_OBJECT)
        break
    }
    this.#before = byte
  }

  #countMember(): void {
    const members = (this.#membersAt[this.depth] ?? 0) + 1
    this.#membersAt[this.depth] = members
    if (members > this.members) this.members = members
  }

  #close(open: number): void {
    if (this.#before === open) this.values -= 1
    if (this.depth > 0) this.depth -= 1
  }
}
