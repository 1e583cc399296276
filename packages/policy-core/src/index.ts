export {
  ACTIONS,
  domainOf,
  FILESYSTEM_ACTIONS,
  isAction,
  isFilesystemAction,
  isNetworkAction,
  NETWORK_ACTIONS,
  type Action,
  type Domain,
  type FilesystemAction,
  type NetworkAction,
  type Policy,
  type Rule,
  type RuleDecision,
  type Scope,
} from './policy/policy.ts'
export { type Grant } from './policy/grant.ts'
export { effectiveDefault } from './policy/effective-default.ts'
export { effectivePolicies } from './policy/effective-policies.ts'
export {
  REASONS,
  type CanonicalRequest,
  type ConnectRequest,
  type Decision,
  type DecisionRequest,
  type Explanation,
  type MatchedRule,
  type NearMiss,
  type Origin,
  type PathRequest,
  type Reason,
  type RuleMatch,
  type ShadowDecision,
  type UnavailableReason,
} from './policy/decision.ts'
export { type CompileOptions, type PolicySet } from './decision/policy-set.ts'
export {
  compileInSteps,
  compilePolicy,
  createCompiler,
  type Compiler,
} from './decision/compile-policy.ts'
export { runSteps, type Steps } from './steps.ts'
export { type CompiledPolicy } from './decision/compiled-policy.ts'
export { decide, denyUnavailable, type DecideOptions } from './decision/decide.ts'
export { nextExpiry, policyAt, withoutGrants } from './decision/conditions.ts'
export { decisivePorts } from './decision/decisive-ports.ts'
export { explain, explainUnavailable } from './decision/explain.ts'
export { allowsAllBelow } from './decision/allows-below.ts'
export { pathDenies, type DenyPlace, type PathDenies } from './decision/path-denies.ts'
export { describePathCost, MAX_PATH_COST, pathLoad, pathLoadInSteps } from './decision/path-cost.ts'
export { pathCost, sumPathLoads, type PathLoad, type PathShare } from './lookup/path/path-load.ts'
export { checkRule, type RuleProblem } from './policy/check-rule.ts'
export { parseInstant } from './policy/instant.ts'
export { canonicalAddress, canonicalHost, type CanonicalHost } from './host/canonical.ts'
export { PolicyError, type PolicyProblem } from './errors.ts'
export { makeSelfTest } from './self-test/make-self-test.ts'
export {
  runSelfTest,
  type SelfTestFailure,
  type SelfTestSubject,
} from './self-test/run-self-test.ts'
export { type SelfTestExpectation, type SelfTestVector } from './self-test/self-test.ts'
