import { PolicyError, type Policy, type Steps } from '@palisade/policy-core'
import type { ActivePolicy, UnreadableBundle } from '../../decision/active-policy.ts'
import type { CompiledBundle } from '../../decision/compile-bundle.ts'
import type { PolicyBundle } from '../../decision/policy-bundle.ts'
import { testBundle, type SelfTest } from '../../decision/test-bundle.ts'
import type { ReadBundle } from './build-bundle.ts'
import { fault, type Fault } from '../fault.ts'
import type { FetchedView } from '../state/trust.ts'

/** What can be put into force. */
export interface Prepared {
  readonly kind: 'prepared'
  readonly bundle: CompiledBundle | UnreadableBundle
  /** What is wrong although it is in force: it denies everything. */
  readonly complaint: Fault | null
}

export interface PrepareDeps {
  readonly active: Pick<ActivePolicy, 'compile' | 'current'>
  readonly readBundle: ReadBundle
}

/**
 * In steps, between which what is in force stays so: reads, compiles and tests, so that nothing can fail any more once the bundle is put into force. What
 * is tested already need not be again.
 */
export function* prepareBundle(
  { active, readBundle }: PrepareDeps,
  { view, texts }: FetchedView,
  { source, isTested }: { readonly source: CompiledBundle['source']; readonly isTested: boolean },
): Steps<Prepared | Fault> {
  const built = yield* readBundle(view, texts)
  if (built.kind === 'unsupported') {
    const complaint = fault('unsupported_policy', built.message)
    return { kind: 'prepared', bundle: built, complaint }
  }
  const compiled = yield* compile(active, built.bundle, source)
  if (compiled.kind === 'fault') return compiled
  const misread = isTested ? null : yield* testBundle(compiled, built.selfTests)
  if (misread === null) return { kind: 'prepared', bundle: compiled, complaint: null }
  const complaint = fault('self_test_failed', misread)
  if (!(yield* isMisreadInForce(active.current(), built.selfTests))) return complaint
  // There is no last good one: what is in force has been misread all along.
  const { revision, issued_at, stale_at } = built.bundle
  const bundle = { kind: 'unsupported', revision, issued_at, stale_at } as const
  return { kind: 'prepared', bundle, complaint }
}

/** Asks what is in force of the documents that it has, too: what others came beside them is no matter. */
function* isMisreadInForce(
  current: CompiledBundle | null,
  selfTests: readonly SelfTest[],
): Steps<boolean> {
  if (current === null) return false
  // The same objects for as long as the documents are the same.
  const policies = new Set<Policy>(current.bundle.policies)
  const own = selfTests.filter(({ policy }) => policies.has(policy))
  return (yield* testBundle(current, own)) !== null
}

function* compile(
  active: PrepareDeps['active'],
  bundle: PolicyBundle,
  source: CompiledBundle['source'],
): Steps<CompiledBundle | Fault> {
  try {
    return yield* active.compile(bundle, source)
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return fault('not_compilable', `the policy does not compile: ${describePolicyError(error)}`)
  }
}

function describePolicyError(error: PolicyError): string {
  const [problem] = error.problems
  if (problem === undefined) return error.message
  return `rule \`${problem.rule_id}\` of policy \`${problem.policy_id}\`: ${problem.member}: ${problem.message}`
}
