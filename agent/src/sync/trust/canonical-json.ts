/**
 * The form that TUF signs: members sorted, no white space, strings with `\` and `"` escaped alone. Null
 * for what has none, as a fraction: what tuf-js would not read must not count as signed here either.
 */
export function formatCanonicalJson(value: unknown): string | null {
  try {
    return format(value)
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

function format(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (Number.isInteger(value) || typeof value === 'boolean' || value === null)
    return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(format).join(',')}]`
  if (typeof value !== 'object') throw new TypeError('this has no canonical form')
  const object = value as Readonly<Record<string, unknown>>
  let members = ''
  // Without a pair for each member: they are half of what this would cost.
  for (const name of Object.keys(object).toSorted())
    members += `${members === '' ? '' : ','}${quote(name)}:${format(object[name])}`
  return `{${members}}`
}

function quote(text: string): string {
  const isPlain = !text.includes('\\') && !text.includes('"')
  return `"${isPlain ? text : text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
