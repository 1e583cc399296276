/**
 * Whether a value that was read is of the form that `plan` and `apply` read, and not of the API's
 * shape: there policies have ids and `allowlist_v0`, here rules of their own. What could be either,
 * such as no policies at all, is the latter.
 */
export function isDocument(value: unknown): boolean {
  if (!isObject(value) || !Object.keys(value).every((key) => MEMBERS.has(key))) return false
  const policies: unknown = value['policies']
  if (!Array.isArray(policies)) return false
  const shown = policies.filter(isObject)
  if (shown.some((policy) => 'id' in policy || 'allowlist_v0' in policy)) return false
  return '$schema' in value || shown.some((policy) => 'rules' in policy)
}

const MEMBERS: ReadonlySet<string> = new Set(['$schema', 'policies'])

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
