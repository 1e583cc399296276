/**
 * The form of RFC 8785 (JCS): no white space, members sorted by UTF-16 code units, numbers and
 * strings as ECMAScript writes them, unpaired surrogates too. An undefined member is left out, as
 * when the value is stored as JSON: its hash must be that of the stored text.
 */
export function formatCanonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(',')}]`
  const object = value as Readonly<Record<string, unknown>>
  // Sorted as texts are compared: by code units.
  const members = Object.keys(object)
    .filter((name) => object[name] !== undefined)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${formatCanonicalJson(object[name])}`)
  return `{${members.join(',')}}`
}
