import {
  compilePolicy,
  createCompiler,
  decide,
  explain,
  type CompiledPolicy,
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

/** The evaluator that is shipped. Sets of an odd number of policies are compiled after a change. */
export function palisade(set: PolicySet, options: CompileOptions): Evaluation {
  const isOdd = (set.policies?.length ?? 0) % 2 === 1
  const policy = isOdd ? compileChanged(set, options) : compilePolicy(set, options)
  return {
    decide: (request) => decide(policy, request),
    explain: (request) => explain(policy, request),
  }
}

/** Compiles the set with a compiler that knows all of it but its first policy, and turned around. */
function compileChanged(set: PolicySet, options: CompileOptions): CompiledPolicy {
  const compiler = createCompiler()
  compiler.compile({ ...set, policies: set.policies?.slice(1).toReversed() }, options)
  return compiler.compile(set, options)
}
