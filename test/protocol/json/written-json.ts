import { fc } from '@fast-check/vitest'

/** Finds duplicate members and depth by tokens and a stack; for valid JSON only. */
export function referenceKind(text: string): string {
  const around: (Set<unknown> | null)[] = []
  let repeated = false
  const tokens = text.match(/"(?:[^"\\]|\\.)*"\s*:?|[{}[\]]/gs) ?? []
  for (const token of tokens) {
    if (token === '{' || token === '[') around.push(token === '{' ? new Set() : null)
    if (around.length > 32) return 'too_deep'
    if (token === '}' || token === ']') around.pop()
    if (!token.endsWith(':')) continue
    const name: unknown = JSON.parse(token.slice(0, -1))
    repeated ||= around.at(-1)?.has(name) === true
    around.at(-1)?.add(name)
  }
  return repeated ? 'duplicate_member' : 'ok'
}

const scalar = fc.constantFrom(
  '1',
  '-0.5e3',
  'null',
  '"a:b"',
  '"{"',
  '"\\""',
  '"\\\\"',
  '""',
  '[]',
  '{}',
)
const memberName = fc.constantFrom('"a"', '"\\u0061"', '"b"', '"a:"', '"__proto__"', '"1"')
const space = fc.constantFrom('', ' ', '\n\t', '\r')
/** JSON whose objects often repeat a member, with different escapes. */
export const writtenJson = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    scalar,
    fc.array(fc.tuple(space, tie('value')), { maxLength: 3 }).map((elements) => {
      return `[${elements.map((element) => element.join('')).join(',')}]`
    }),
    fc.array(fc.tuple(memberName, space, tie('value')), { maxLength: 3 }).map((members) => {
      return `{${members.map(([name, blank, value]) => `${blank}${name}${blank}:${value}`).join()}}`
    }),
  ),
})).value
