import { MAX_LABEL_LENGTH, MAX_NAME_LENGTH, parseHost } from '@palisade/policy-core/internal'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const ALL_CHARACTERS = `${LETTERS}0123456789-_`
/** Shows the reader that any other label would serve as well. */
const USUAL = 'other'

/**
 * Returns a label that makes a valid name before `domain` and is not in `taken`. Null when every
 * label that fits is taken, which requires a very long domain. `reserved` is the number of
 * characters to keep free for further labels. O(taken).
 */
export function freshLabel(
  domain: string,
  taken: ReadonlySet<string>,
  reserved = 0,
): string | null {
  const room = Math.min(MAX_LABEL_LENGTH, MAX_NAME_LENGTH - domain.length - 1 - reserved)
  if (room >= USUAL.length && !taken.has(USUAL)) return USUAL
  for (const label of texts(LETTERS, room)) if (!taken.has(label)) return label
  // Other characters are not valid everywhere: `xn--` must decode, and RTL names have more rules.
  for (const label of texts(ALL_CHARACTERS, room))
    if (!taken.has(label) && isLabelOf(label, domain)) return label
  return null
}

function isLabelOf(label: string, domain: string): boolean {
  const name = `${label}.${domain}`
  const host = parseHost(name)
  return host?.kind === 'name' && host.name === name
}

/** Every text of 1 to `longest` characters from the list, shorter texts first. */
function* texts(characters: string, longest: number): Generator<string> {
  for (let length = 1; length <= longest; length += 1) {
    const digits = Array<number>(length).fill(0)
    for (let isDone = false; !isDone; isDone = countUp(digits, characters.length))
      yield digits.map((digit) => characters[digit] ?? '').join('')
  }
}

/** Increments the number in the digits; true when it overflows to zero. */
function countUp(digits: number[], base: number): boolean {
  for (let index = digits.length - 1; index >= 0; index -= 1) {
    const digit = (digits[index] ?? 0) + 1
    digits[index] = digit % base
    if (digit < base) return false
  }
  return true
}
