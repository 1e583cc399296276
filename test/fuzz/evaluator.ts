import {
  compilePolicy,
  decide,
  explain,
  type CompileOptions,
  type Decision,
  type Explanation,
  type PolicySet,
} from '@palisade/policy-core'

/** What is under test: policies made ready, then asked. */
export type Evaluator = (set: PolicySet, options: CompileOptions) => Evaluation

export interface Evaluation {
  readonly decide: (request: unknown) => Decision
  readonly explain: (request: unknown) => Explanation
}

/** The evaluator that is shipped. */
export function palisade(set: PolicySet, options: CompileOptions): Evaluation {
  const policy = compilePolicy(set, options)
  return {
    decide: (request) => decide(policy, request),
    explain: (request) => explain(policy, request),
  }
}
