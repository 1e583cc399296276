/**
 * The form of RFC 8785 (JCS): no white space, members sorted by UTF-16 code units, numbers and
 * strings as ECMAScript writes them. `value` must be JSON: no undefined member, no NaN.
 */
export function formatCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${formatCanonicalJson(member)}`)
  return `{${members.join(',')}}`
}
