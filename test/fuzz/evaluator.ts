import {
  checkRule,
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

/** The code under test: compiles policies, then answers requests. */
export type Evaluator = (set: PolicySet, options: CompileOptions) => Evaluation

export interface Evaluation {
  readonly decide: (request: unknown) => Decision
  readonly explain: (request: unknown) => Explanation
}

/**
 * The shipped evaluator. Sets with an odd number of policies are compiled incrementally. Valid sets
 * are compiled without the limit on the total cost of patterns, because the reference only limits
 * single patterns.
 */
export function palisade(set: PolicySet, given: CompileOptions): Evaluation {
  const options = { ...given, patternLimits: !isEveryRuleGood(set) }
  const isOdd = (set.policies?.length ?? 0) % 2 === 1
  const policy = isOdd ? compileChanged(set, options) : compilePolicy(set, options)
  return {
    decide: (request) => decide(policy, request),
    explain: (request) => explain(policy, request),
  }
}

function isEveryRuleGood({ policies = [], local = [] }: PolicySet): boolean {
  return [...policies, ...local].every(({ allowlist_v0 }) =>
    (allowlist_v0?.rules ?? []).every((rule) => checkRule(rule).length === 0),
  )
}

/**
 * Compiles the set with a compiler that has compiled its policies in reverse order, without the
 * first.
 */
function compileChanged(set: PolicySet, options: CompileOptions): CompiledPolicy {
  const compiler = createCompiler()
  compiler.compile({ ...set, policies: set.policies?.slice(1).toReversed() }, options)
  return compiler.compile(set, options)
}
