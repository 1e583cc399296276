import { compilePolicy, PolicyError } from '@palisade/policy-core'
import {
  localDocumentSchema,
  policyDocumentSchema,
  type PolicyDocument,
} from '../governance/policy-document.ts'
import { describeSourceIssue } from './describe-source-issue.ts'
import { documentList, type DocumentList } from './document-list.ts'
import { parseSource, type SourceDocument } from './parse-source.ts'

/** Maximum number of reported problems, since a generated file may be wrong in every rule. */
const MAX_ISSUES = 100

export type SourcePolicy = PolicyDocument['policies'][number]

/** A policy of a text. */
export interface LocatedPolicy {
  readonly policy: SourcePolicy
  /**
   * File, line and column of the policy's name, or of the value at `path` in it. Computed on
   * demand, because a correct file needs no positions.
   */
  readonly locate: (path?: readonly PropertyKey[]) => string
}

/** Formats the problem on demand, because finding its position in a large file is slow. */
export type Problem = () => string

export interface ReadDocuments {
  readonly policies: readonly LocatedPolicy[]
  readonly problems: readonly Problem[]
}

/**
 * Reads the documents of a text, which `plan` and `apply` know as `shown`. Each problem begins with
 * file, line and column. Never throws.
 */
export function readDocuments(
  shown: string,
  text: string,
  format: 'json' | 'yaml',
  list: DocumentList = 'policies',
): ReadDocuments {
  const { documents, faults, positionOf } = parseSource(text, format)
  const locationOf = (offset: number): string => {
    if (offset < 0) return shown
    const { line, column } = positionOf(offset)
    return `${shown}:${line}:${column}`
  }
  if (faults.length > 0)
    return {
      policies: [],
      problems: faults.map(
        ({ message, offset }) =>
          () =>
            `${locationOf(offset)}: ${message}`,
      ),
    }
  if (documents.length === 0)
    return {
      policies: [],
      problems: [() => `${shown}: is empty; write \`${list}: []\` for none`],
    }
  const read = documents.map((document) => readDocument(document, locationOf, list))
  return {
    policies: read.flatMap(({ policies }) => policies),
    problems: read.flatMap(({ problems }) => problems),
  }
}

/** Finds repeated policies. Names are unique across files that are read together. */
export function findRepeated(policies: readonly LocatedPolicy[]): readonly Problem[] {
  const locators = new Map<string, () => string>()
  return policies.flatMap(({ policy: { name }, locate }) => {
    const first = locators.get(name)
    if (first !== undefined)
      return [() => `${locate()}: policy \`${name}\` stands already at ${first()}`]
    locators.set(name, locate)
    return []
  })
}

function readDocument(
  document: SourceDocument,
  locationOf: (offset: number) => string,
  list: DocumentList,
): ReadDocuments {
  const at = (path: readonly PropertyKey[]): string => locationOf(document.offsetOf(path))
  const { value } = document
  const other = documentList(value)
  if (other !== null && other !== list)
    return { policies: [], problems: [() => `${locationOf(-1)}: ${OTHER_LIST[other]}`] }
  const schema = list === 'local' ? localPoliciesSchema : policyDocumentSchema
  const parsed = schema.safeParse(value)
  if (!parsed.success)
    return {
      policies: [],
      problems: parsed.error.issues
        .slice(0, MAX_ISSUES)
        .flatMap((issue) => describeSourceIssue(value, issue, list))
        .map(
          ({ path, message }) =>
            () =>
              `${at(path)}: ${message}`,
        ),
    }
  const policies = parsed.data.policies.map((policy, index) => ({
    policy,
    locate: (path: readonly PropertyKey[] = ['name']) => at([list, index, ...path]),
  }))
  const problems = policies.flatMap(({ policy, locate }) =>
    findProblems(policy).map(
      ({ path, message }) =>
        () =>
          `${locate(path)}: ${message}`,
    ),
  )
  return { policies, problems }
}

const OTHER_LIST: Readonly<Record<DocumentList, string>> = {
  policies: '`policies` belong to an organization; write `local` for rules of this machine',
  local:
    '`local` rules belong to one machine; ' +
    'name the file in `PALISADE_LOCAL_POLICIES` of its agent',
}

const localPoliciesSchema = localDocumentSchema.transform(({ local }) => ({ policies: local }))

/** Finds faults that the server would refuse, while the line is still known. */
function findProblems(
  policy: SourcePolicy,
): readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] {
  const seen = new Set<string>()
  const repeated = policy.rules.flatMap(({ name }, index) => {
    if (seen.has(name))
      return [
        { path: ['rules', index, 'name'], message: `rule \`${name}\` stands twice in its policy` },
      ]
    seen.add(name)
    return []
  })
  const rules = policy.rules.map((rule, index) => ({ ...rule, id: String(index) }))
  try {
    compilePolicy({ policies: [{ id: '', name: policy.name, allowlist_v0: { rules } }] })
    return repeated
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return [
      ...repeated,
      ...error.problems.map(({ rule_id, member, message }) => ({
        path: ['rules', Number(rule_id), ...pathOfMember(member)],
        message,
      })),
    ]
  }
}

/** A member in words of an error, such as `rules[0].resources[2]`, as a path. */
export function pathOfMember(member: string): readonly PropertyKey[] {
  return [...member.matchAll(/[^.[\]]+/g)].map(([part]) =>
    /^\d+$/.test(part) ? Number(part) : part,
  )
}
