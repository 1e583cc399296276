import { compilePolicy, PolicyError } from '@palisade/policy-core'
import type { PolicyFile } from '../governance/policy-file.ts'
import { findRepeated, readDocuments, type LocatedPolicy } from './read-documents.ts'
import { describeProblem, readPolicyFile } from './read-policy-file.ts'

/** Policies of one machine; usable only if `problems` is empty. */
export interface LocalPolicies {
  readonly policies: NonNullable<PolicyFile['local']>
  /** One line each: file and position, the fault, and the correction. */
  readonly problems: readonly string[]
}

/** Policies by name, with names in place of ids. */
export interface LocalDocuments extends LocalPolicies {
  readonly located: readonly LocatedPolicy[]
}

/**
 * Reads the file of a machine's own policies, in the API's shape, `{"local": [Policy…]}`, or by
 * name as `readLocalDocuments` does. `shown` is the file in messages. Never throws.
 */
export function readLocalPolicies(
  shown: string,
  text: string,
  format: 'json' | 'yaml',
): LocalPolicies {
  const read = readPolicyFile(text, format)
  if (read.kind === 'documents') return readLocalDocuments(shown, text, format)
  if (read.kind === 'invalid') return refusal(shown, read.problems)
  const { local, ...others } = read.source
  const problems = Object.keys(others).map((name) => `\`${name}\` is not for rules of a machine`)
  if (local === undefined) problems.push('`local` is missing; write `local: []` for none')
  if (local === undefined || problems.length > 0) return refusal(shown, problems)
  try {
    compilePolicy({ policies: [], local, governed: true })
    return { policies: local, problems: [] }
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const lines = error.problems.map(describeProblem)
    return refusal(shown, lines.length === 0 ? [error.message] : lines)
  }
}

/** Reads documents of the form `{"local": [{name, rules}…]}`. Never throws. */
export function readLocalDocuments(
  shown: string,
  text: string,
  format: 'json' | 'yaml',
): LocalDocuments {
  const { policies: located, problems } = readDocuments(shown, text, format, 'local')
  const policies = located.map(({ policy: { name, rules } }) => ({
    id: name,
    name,
    allowlist_v0: { rules: rules.map((rule) => ({ ...rule, id: rule.name })) },
  }))
  return {
    policies,
    located,
    problems: [...problems, ...findRepeated(located)].map((problem) => problem()),
  }
}

function refusal(shown: string, problems: readonly string[]): LocalPolicies {
  return { policies: [], problems: problems.map((problem) => `${shown}: ${problem}`) }
}
