export { lint } from './lint/lint.ts'
export { type LintOptions } from './lint/lint-rule.ts'
export { type Finding, type FindingRule } from './lint/finding.ts'
export { LINT_SEVERITIES, type LintCode, type Severity } from './lint/codes.ts'
export { compare } from './compare/compare.ts'
export { isNoWider } from './compare/is-no-wider.ts'
export {
  type Change,
  type ComparedRegion,
  type CompareOptions,
  type Comparison,
  type NoWider,
} from './compare/comparison.ts'
