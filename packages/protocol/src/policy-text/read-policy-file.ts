import type { PolicyProblem } from '@palisade/policy-core'
import { parseJson } from '../json/parse-json.ts'
import { policyFileSchema, type PolicyFile } from '../governance/policy-file.ts'
import { describeIssue } from './describe-issue.ts'
import { documentList, type DocumentList } from './document-list.ts'
import { parseSource, type ParsedSource, type Position } from './parse-source.ts'

/**
 * - `file`: the API's shape.
 * - `documents`: policies by name; `readDocuments` reads those of an organization,
 *   `readLocalDocuments` those of one machine.
 * - `invalid`: one problem a line, without the name of the file.
 */
export type ReadPolicyFile =
  | { readonly kind: 'file'; readonly source: PolicyFile }
  | { readonly kind: 'documents'; readonly list: DocumentList }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }

/** Reads a policy file. JSON holds one value, YAML any number of documents. Never throws. */
export function readPolicyFile(text: string, format: 'json' | 'yaml'): ReadPolicyFile {
  if (format === 'json') {
    const json = parseJson(text)
    if (json.ok) return readValues([json.value])
    const { message, offset } = json.problem
    const isLocated = offset < 0 || /at line \d/.test(message)
    const { positionOf } = parseSource(text, 'json')
    return invalid([isLocated ? message : `${message} at ${formatPosition(positionOf(offset))}`])
  }
  const { documents, faults, positionOf }: ParsedSource = parseSource(text, 'yaml')
  if (faults.length === 0) return readValues(documents.map(({ value }) => value))
  return invalid(
    faults.map(({ message, offset }) => `${message} at ${formatPosition(positionOf(offset))}`),
  )
}

/** One line for a fault of a rule that has ids, without the name of its file. */
export function describeProblem(problem: PolicyProblem): string {
  const policy = problem.origin === 'local' ? 'local policy' : 'policy'
  return (
    `${policy} \`${problem.policy_name}\` (${problem.policy_id}) ` +
    `rule \`${problem.rule_name}\` (${problem.rule_id}): ${problem.member}: ${problem.message}`
  )
}

function readValues(values: readonly unknown[]): ReadPolicyFile {
  for (const value of values) {
    const list = documentList(value)
    if (list !== null) return { kind: 'documents', list }
  }
  if (values.length !== 1) return invalid([`holds ${values.length} documents; write exactly one`])
  const [value] = values
  const parsed = policyFileSchema.safeParse(value)
  if (parsed.success) return { kind: 'file', source: parsed.data }
  return invalid(parsed.error.issues.flatMap((issue) => describeIssue(value, issue)))
}

function invalid(problems: readonly string[]): ReadPolicyFile {
  return { kind: 'invalid', problems }
}

function formatPosition({ line, column }: Position): string {
  return `line ${line}, column ${column}`
}
