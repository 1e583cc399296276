import {
  documentPolicySchema,
  localDocumentSchema,
  policyDocumentSchema,
} from '../governance/policy-document.ts'
import { describeValue, unknownMember, type SchemaIssue } from './describe-issue.ts'
import type { DocumentList } from './document-list.ts'
import { valueAt } from './locate-member.ts'

export interface SourceProblem {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** The faults of a document, each with its path. */
export function describeSourceIssue(
  root: unknown,
  issue: SchemaIssue,
  list: DocumentList,
): readonly SourceProblem[] {
  const { path } = issue
  if (issue.code === 'unrecognized_keys') {
    const known = knownMembers(path, list)
    return (issue.keys ?? []).map((key) => ({
      path: [...path, key],
      message: unknownMember(key, known),
    }))
  }
  const member = path.at(-1)
  const named = typeof member === 'string' ? `\`${member}\` ` : ''
  return [{ path, message: `${named}${describeValue(root, issue)}${advice(root, issue)}` }]
}

/** Advises quotes: YAML reads text that looks like a number or boolean as one. */
function advice(root: unknown, { path, expected }: SchemaIssue): string {
  const value = valueAt(root, path)
  const isPlain = typeof value === 'number' || typeof value === 'boolean'
  return expected === 'string' && isPlain ? '; put it in quotes' : ''
}

/** Read off the schema, so that a new member is suggested without a change here. */
function knownMembers(path: readonly PropertyKey[], list: DocumentList): readonly string[] {
  const { shape } = list === 'local' ? localDocumentSchema : policyDocumentSchema
  if (path.length === 0) return Object.keys(shape)
  const policy = documentPolicySchema.shape
  if (path.includes('rules')) return Object.keys(policy.rules.element.shape)
  if (path.includes('scope')) return Object.keys(policy.scope.unwrap().shape)
  const { scope: _, ...local } = policy
  return Object.keys(list === 'local' ? local : policy)
}
