/**
 * The form of RFC 8785 (JCS): no white space, members sorted by UTF-16 code units, numbers and
 * strings as ECMAScript writes them, unpaired surrogates too. `value` must be JSON: no undefined
 * member, no NaN.
 */
export function formatCanonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(',')}]`
  const object = value as Readonly<Record<string, unknown>>
  // Sorted as texts are compared: by code units.
  const members = Object.keys(object)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${formatCanonicalJson(object[name])}`)
  return `{${members.join(',')}}`
}
