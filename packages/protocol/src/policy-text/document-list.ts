/**
 * The member that holds the policies of a document: those of an organization, or of one machine.
 */
export type DocumentList = 'policies' | 'local'

/**
 * The list of a parsed value in the form by name, which `plan` and `apply` read. Null for a value
 * in the API's shape: there policies have ids and `allowlist_v0`, while by name they have `rules`.
 * An ambiguous value, such as one without policies, counts as the API's shape.
 */
export function documentList(value: unknown): DocumentList | null {
  return LISTS.find((list) => isDocumentOf(value, list)) ?? null
}

const LISTS: readonly DocumentList[] = ['policies', 'local']

function isDocumentOf(value: unknown, list: DocumentList): boolean {
  if (!isObject(value)) return false
  if (!Object.keys(value).every((key) => key === '$schema' || key === list)) return false
  const policies: unknown = value[list]
  if (!Array.isArray(policies)) return false
  const shown = policies.filter(isObject)
  if (shown.some((policy) => 'id' in policy || 'allowlist_v0' in policy)) return false
  return '$schema' in value || shown.some((policy) => 'rules' in policy)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
