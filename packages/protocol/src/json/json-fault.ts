import { endOfNumber, endOfSpace, endOfString, endOfWord } from './json-token.ts'

/** A token may be a name that is remembered. */
const TOKENS_A_TURN = 4096

/** The first place in a text that is not JSON, or that two readers could read in two ways. */
export type JsonFault =
  | { readonly kind: 'syntax' | 'too_deep'; readonly offset: number }
  | { readonly kind: 'duplicate_member'; readonly offset: number; readonly member: string }

export interface JsonFaultOptions {
  readonly maxDepth: number
  /** Whether a repeated member is a fault. */
  readonly repeatedMembers: 'allowed' | 'refused'
}

type Expected =
  'value' | 'value or end of array' | 'name' | 'name or end of object' | 'colon' | 'comma or end'

interface Reader {
  readonly text: string
  readonly options: JsonFaultOptions
  /** The names so far of each object around the next token; null for an array. */
  readonly around: (Set<string> | null)[]
  expected: Expected
}

/**
 * Finds the first fault of a JSON text (RFC 8259): wrong syntax, an object or array below
 * `maxDepth` others, or a repeated member. One pass; it holds the names of the objects it is in.
 * Offsets are UTF-16 code units: of the token that does not fit, or the length of the text.
 * Yields after some tokens.
 */
export function* seekJsonFault(
  text: string,
  options: JsonFaultOptions,
): Generator<void, JsonFault | null> {
  const reader: Reader = { text, options, around: [], expected: 'value' }
  let tokens = 0
  for (let index = 0; ;) {
    index = endOfSpace(text, index)
    if (index === text.length) break
    const end = readToken(reader, index)
    if (typeof end !== 'number') return end
    if (end < 0) return { kind: 'syntax', offset: index }
    index = end
    tokens += 1
    if (tokens % TOKENS_A_TURN === 0) yield
  }
  const isWhole = reader.expected === 'comma or end' && reader.around.length === 0
  return isWhole ? null : { kind: 'syntax', offset: text.length }
}

/** The end of the token at `start`; -1 where it does not fit. */
function readToken(reader: Reader, start: number): number | JsonFault {
  const character = reader.text.charAt(start)
  switch (reader.expected) {
    case 'colon':
      return character === ':' ? expect(reader, 'value', start + 1) : -1
    case 'comma or end':
      return character === ',' ? readComma(reader, start) : readEnd(reader, start)
    case 'name or end of object':
      return character === '}' ? readEnd(reader, start) : readName(reader, start)
    case 'value or end of array':
      return character === ']' ? readEnd(reader, start) : readValue(reader, start)
    case 'name':
      return readName(reader, start)
    case 'value':
      return readValue(reader, start)
  }
}

function expect(reader: Reader, expected: Expected, end: number): number {
  reader.expected = expected
  return end
}

function readComma(reader: Reader, start: number): number {
  const names = reader.around.at(-1)
  if (names === undefined) return -1
  return expect(reader, names === null ? 'value' : 'name', start + 1)
}

function readEnd(reader: Reader, start: number): number {
  const names = reader.around.pop()
  if (names === undefined || reader.text.charAt(start) !== (names === null ? ']' : '}')) return -1
  return expect(reader, 'comma or end', start + 1)
}

function readName(reader: Reader, start: number): number | JsonFault {
  const { text, around, options } = reader
  if (text.charAt(start) !== '"') return -1
  const end = endOfString(text, start)
  if (end >= 0 && options.repeatedMembers === 'refused') {
    const member = decodeName(text, start, end)
    const names = around.at(-1)
    if (names?.has(member)) return { kind: 'duplicate_member', offset: start, member }
    names?.add(member)
  }
  return expect(reader, 'colon', end)
}

function readValue(reader: Reader, start: number): number | JsonFault {
  const { text, around, options } = reader
  const character = text.charAt(start)
  if (character !== '{' && character !== '[')
    return expect(reader, 'comma or end', endOfScalar(text, start))
  if (around.length === options.maxDepth) return { kind: 'too_deep', offset: start }
  const isObject = character === '{'
  around.push(isObject ? new Set() : null)
  return expect(reader, isObject ? 'name or end of object' : 'value or end of array', start + 1)
}

/** The end of a string, number or word that begins at `start`; -1 for anything else. */
function endOfScalar(text: string, start: number): number {
  const character = text.charAt(start)
  if (character === '"') return endOfString(text, start)
  if (character === '-' || (character >= '0' && character <= '9')) return endOfNumber(text, start)
  return endOfWord(text, start)
}

function decodeName(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1)
  return name.includes('\\') ? String(JSON.parse(`"${name}"`)) : name
}
