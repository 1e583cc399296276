import type { CompileOptions, Decision, PolicySet } from '@palisade/policy-core'
import {
  expectedOf,
  nowOf,
  policySetOf,
  readCorpus,
  readRejectedPatterns,
  requestOf,
  type CorpusCase,
} from '../policy-core/corpus/corpus-case.ts'
import { referenceDecide } from '../policy-core/reference/reference-decide.ts'
import { readPolicySet } from '../policy-core/reference/reference-rules.ts'

/** One decision of the published file; see `packages/policy-core/vectors/README.md`. */
export interface DecisionVector {
  /** `<subject>/<number>`, never reused for another case. */
  readonly id: string
  readonly description: string
  readonly set: PolicySet
  readonly user_teams?: readonly string[]
  readonly options?: CompileOptions
  /** RFC 3339; absent when no rule expires. */
  readonly now?: string
  readonly request: unknown
  readonly expected: Omit<Decision, 'hint'>
}

/** A resource that rules reject. */
export interface RejectedVector {
  readonly id: string
  readonly action: string
  readonly resource: string
}

export interface Vectors {
  /** Changes when readers of the file must change. */
  readonly format: 1
  /** Version of the package with these decisions. */
  readonly version: string
  readonly decisions: readonly DecisionVector[]
  readonly rejected: readonly RejectedVector[]
}

/** Expands the corpus. The decisions are those of the reference evaluator. */
export function makeVectors(version: string): Vectors {
  const decisions = [...readCorpus()].flatMap(([subject, cases]) =>
    cases.map((corpusCase, index) => decisionVector(`${subject}/${index + 1}`, corpusCase)),
  )
  const rejected = readRejectedPatterns().map(({ action, resource }, index) => ({
    id: `rejected-patterns/${index + 1}`,
    action,
    resource,
  }))
  return {
    format: 1,
    version,
    decisions: decisions.filter(isPortable),
    rejected: rejected.filter(isPortable),
  }
}

/**
 * Formats one vector per line, for readable diffs, and in ASCII, so that no tool normalizes or
 * hides a code point.
 */
export function formatVectors({ format, version, decisions, rejected }: Vectors): string {
  const text = [
    `{"format": ${format}, "version": ${JSON.stringify(version)},`,
    `"decisions": [\n${linesOf(decisions)}\n],`,
    `"rejected": [\n${linesOf(rejected)}\n]}\n`,
  ].join('\n')
  return text.replaceAll(
    /[^\n\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function decisionVector(id: string, corpusCase: CorpusCase): DecisionVector {
  const { description, user_teams, options, now, org, set: written } = corpusCase
  const effective = policySetOf(corpusCase)
  const request = requestOf(corpusCase)
  const decision = referenceDecide(readPolicySet(effective, options), request, nowOf(corpusCase))
  const policies = org === undefined ? written?.policies : effective.policies
  return {
    id,
    description,
    set: { ...effective, ...(policies === undefined ? {} : { policies }) },
    ...(user_teams === undefined ? {} : { user_teams }),
    ...(options === undefined ? {} : { options }),
    ...(now === undefined ? {} : { now }),
    request,
    expected: expectedOf(corpusCase, effective, decision),
  }
}

/** JSON readers of many languages reject a file with an unpaired surrogate. */
function isPortable(vector: object): boolean {
  return !/\\ud[89a-f]/.test(JSON.stringify(vector))
}

function linesOf(vectors: readonly object[]): string {
  return vectors.map((vector) => JSON.stringify(vector)).join(',\n')
}
