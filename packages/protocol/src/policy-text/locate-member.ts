/** The location of a member of a policy file in words that its author uses. */
export interface MemberLocation {
  /** Such as "policy `web` (pol_1) rule `api` (rule_2)"; empty at the top of the file. */
  readonly owner: string
  /** Such as `resources[2]`; empty for the owner itself. */
  readonly member: string
}

/** Describes `path` inside the parsed file `root`. Never throws. */
export function locateMember(root: unknown, path: readonly PropertyKey[]): MemberLocation {
  const [list, policyIndex] = path
  if ((list !== 'policies' && list !== 'local') || typeof policyIndex !== 'number')
    return { owner: '', member: formatMember(path) }
  const policy = valueAt(root, [list, policyIndex])
  const word = list === 'local' ? 'local policy' : 'policy'
  const policyName = `${word} ${nameOf(policy, `${list}[${policyIndex}]`)}`
  const [, , set, rules, ruleIndex] = path
  if (set !== 'allowlist_v0' || rules !== 'rules' || typeof ruleIndex !== 'number')
    return { owner: policyName, member: formatMember(path.slice(2)) }
  const rule = childOf(childOf(childOf(policy, set), rules), ruleIndex)
  return {
    owner: `${policyName} rule ${nameOf(rule, `rules[${ruleIndex}]`)}`,
    member: formatMember(path.slice(5)),
  }
}

/** The value at `path`, or undefined. */
export function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(childOf, root)
}

/** "`name` (id)", with a fallback for a missing name. */
function nameOf(value: unknown, fallback: string): string {
  const name = childOf(value, 'name')
  const id = childOf(value, 'id')
  const shown = typeof name === 'string' && name !== '' ? `\`${name}\`` : fallback
  return typeof id === 'string' && id !== '' ? `${shown} (${id})` : shown
}

function childOf(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return Reflect.get(value, key)
}

function formatMember(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '')
}
