import { policyFileSchema } from '../governance/policy-file.ts'
import { nearestName } from '../nearest-name.ts'
import { locateMember, valueAt } from './locate-member.ts'

/** The part of a schema issue that is described. */
export interface SchemaIssue {
  readonly code?: string | undefined
  readonly message: string
  readonly path: readonly PropertyKey[]
  readonly keys?: readonly string[]
  readonly values?: readonly unknown[]
  readonly expected?: string
}

/** One line for each fault, without the name of the file. */
export function describeIssue(root: unknown, issue: SchemaIssue): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = knownMembers(issue.path)
    return (issue.keys ?? []).map((key) => line(root, issue.path, unknownMember(key, known)))
  }
  return [line(root, issue.path, describeValue(root, issue))]
}

/** The message for a member outside `known`. */
export function unknownMember(key: string, known: readonly string[]): string {
  const nearest = nearestName(key, known)
  const mend =
    nearest === null
      ? `write one of ${known.map((name) => `\`${name}\``).join(', ')}`
      : `did you mean \`${nearest}\`?`
  return `unknown member \`${key}\`; ${mend}`
}

function line(root: unknown, path: readonly PropertyKey[], message: string): string {
  const { owner, member } = locateMember(root, path)
  return [owner, member, message].filter((part) => part !== '').join(': ')
}

/** The message for the value at the issue's path. */
export function describeValue(root: unknown, issue: SchemaIssue): string {
  const value = valueAt(root, issue.path)
  if (value === undefined && issue.path.length > 0) return `is missing; ${expectation(issue)}`
  switch (issue.code) {
    case 'invalid_type':
      return `${expectation(issue)}, not ${kindOf(value)}`
    case 'invalid_value':
      // An array of one text would read like the text itself.
      if (typeof value !== 'string') return `${expectation(issue)}, not ${kindOf(value)}`
      return `\`${value}\` is not known; ${expectation(issue)}`
    default:
      return issue.message
  }
}

function expectation(issue: SchemaIssue): string {
  if (issue.values !== undefined)
    return `write one of ${issue.values.map((value) => `\`${String(value)}\``).join(', ')}`
  return `must be ${withArticle(issue.expected ?? 'value')}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return withArticle(Array.isArray(value) ? 'array' : typeof value)
}

function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

/** Read off the schema, so that a new member is suggested without a change here. */
function knownMembers(path: readonly PropertyKey[]): readonly string[] {
  const file = policyFileSchema.shape
  const policy = file.policies.unwrap().element.shape
  const set = policy.allowlist_v0.unwrap().shape
  if (path.includes('rules')) return Object.keys(set.rules.element.shape)
  if (path.includes('allowlist_v0')) return Object.keys(set)
  if (path.includes('scope')) return Object.keys(policy.scope.unwrap().shape)
  return Object.keys(path.length === 0 ? file : policy)
}
