import { PolicyError, type Policy, type Steps } from '@palisade/policy-core'
import {
  evidenceSettingsSchema,
  parseJson,
  supportMessageSchema,
  viewPolicySchema,
  type ViewPolicy,
} from '@palisade/protocol'
import type { ActivePolicy, UnreadableBundle } from '../../policy/decision/active-policy.ts'
import type { CompiledBundle } from '../../policy/decision/compile-bundle.ts'
import type { PolicyBundle } from '../../policy/decision/policy-bundle.ts'
import { testBundle, type SelfTest } from '../../policy/decision/test-bundle.ts'
import { fault, type Fault } from '../fault.ts'
import type { FetchedView } from '../state/state-keeper.ts'
import { sha256 as digest } from '../trust/signed-metadata.ts'
import type { VerifiedView } from '../trust/verify-view.ts'

/** A bundle that can be put into force. */
export interface Prepared {
  readonly kind: 'prepared'
  readonly bundle: CompiledBundle | UnreadableBundle
  /** The fault of a bundle that is put into force nevertheless, and denies everything. */
  readonly complaint: Fault | null
}

interface PrepareDeps {
  readonly active: Pick<ActivePolicy, 'compile' | 'current'>
  readonly readBundle: ReadBundle
}

/**
 * Reads, compiles and tests a bundle in steps, without changing the bundle in force, so that
 * putting it into force cannot fail. Skips self-tests that have passed before.
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
  // There is no last good bundle: the one in force is misread as well.
  const { revision, issued_at, stale_at } = built.bundle
  const bundle = { kind: 'unsupported', revision, issued_at, stale_at } as const
  return { kind: 'prepared', bundle, complaint }
}

/**
 * Runs the self-tests of the documents that the bundle in force also has, against that bundle; its
 * other documents do not matter.
 */
function* isMisreadInForce(
  current: CompiledBundle | null,
  selfTests: readonly SelfTest[],
): Steps<boolean> {
  if (current === null) return false
  // Unchanged documents keep the same policy objects.
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
  return (
    `rule \`${problem.rule_id}\` of policy \`${problem.policy_id}\`: ` +
    `${problem.member}: ${problem.message}`
  )
}

/** The bundle of a view and its documents. */
type BuiltBundle =
  | {
      readonly kind: 'bundle'
      readonly bundle: PolicyBundle
      /** The self-tests of the documents, in the order of the policies. */
      readonly selfTests: readonly SelfTest[]
    }
  | {
      readonly kind: 'unsupported'
      readonly revision: number
      readonly issued_at: string
      readonly stale_at: string
      readonly message: string
    }

/** Reads one document a step. One reading must end before the next begins. */
type ReadBundle = (view: VerifiedView, texts: readonly string[]) => Steps<BuiltBundle>

/**
 * Reads the documents of a view in order. Content unknown to this version makes the whole bundle
 * unsupported, because a skipped rule could be the one that denies.
 *
 * A document with the same hash as in the previous view is not parsed again. If all documents are
 * the same, the list is the same array: views are signed every hour, usually without a change.
 */
export function createBundleReader(org: string): ReadBundle {
  let policies: readonly MachinePolicy[] = []
  let known = new Map<string, ReadDocument>()

  return function* (view, texts) {
    const read = new Map<string, ReadDocument>()
    for (const [index, { id, sha256, isShadow = false }] of view.documents.entries()) {
      yield
      const key = `${sha256} ${isShadow ? 'shadow' : 'enforce'} ${id}`
      const document = known.get(key) ?? readDocument(texts[index] ?? '', { id, org, isShadow })
      if (document === null) return build(view, null, [])
      read.set(key, document)
    }
    const documents = [...read.values()]
    const list = documents.map(({ policy }) => policy)
    if (!isSameList(list, policies)) policies = list
    known = read
    return build(view, policies, documents)
  }
}

function isSameList(a: readonly MachinePolicy[], b: readonly MachinePolicy[]): boolean {
  return a.length === b.length && a.every((policy, index) => policy === b[index])
}

/** `policies` is null if one of them cannot be read. */
function build(
  view: VerifiedView,
  policies: readonly MachinePolicy[] | null,
  selfTests: readonly SelfTest[],
): BuiltBundle {
  const { settings } = view
  const issued_at = new Date(view.issuedMs).toISOString()
  const stale_at = new Date(view.staleMs).toISOString()
  if (settings === null || policies === null)
    return {
      kind: 'unsupported',
      revision: settings?.revision ?? 0,
      issued_at,
      stale_at,
      message: 'the policy has content that this agent does not know; update the agent',
    }
  const { revision, resolve_unlisted_names, expires_after_seconds, offline_allow = [] } = settings
  // Settings that this version cannot read upload nothing: it would not know what to keep.
  const evidence = evidenceSettingsSchema.safeParse(settings.evidence).data
  const support_message = supportMessageSchema.safeParse(settings.support_message).data
  const standard = settings.default === undefined ? {} : { default: settings.default }
  return {
    kind: 'bundle',
    bundle: {
      revision,
      issued_at,
      stale_at,
      expires_at: new Date(view.issuedMs + expires_after_seconds * 1000).toISOString(),
      settings: {
        resolve_unlisted_names,
        offline_allow,
        ...standard,
        ...(evidence === undefined ? {} : { evidence }),
        ...(support_message === undefined ? {} : { support_message }),
      },
      policies,
      grants: view.access.grants,
      unreadableGrants: view.access.unreadable,
      digest: digestOf(view),
    },
    selfTests,
  }
}

/** Equal for two views with the same settings and documents, whenever they were signed. */
function digestOf({ settings, documents }: VerifiedView): string {
  // These do not decide, and agents of earlier versions do not have them.
  const { evidence: _uploads, support_message: _text, ...deciding } = settings ?? {}
  return digest(JSON.stringify([settings && deciding, documents.map(identityOf)]))
}

function identityOf({
  id,
  sha256,
  isShadow,
}: VerifiedView['documents'][number]): readonly string[] {
  return isShadow === true ? [id, sha256, 'shadow'] : [id, sha256]
}

interface ReadDocument extends SelfTest {
  readonly policy: MachinePolicy
}

/** A policy with the mode of its target; a document itself has none. */
type MachinePolicy = ViewPolicy & { readonly mode?: 'shadow' }

/** Null if the text is not the policy of that id, or has content unknown to this version. */
function readDocument(
  text: string,
  { id, org, isShadow }: { readonly id: string; readonly org: string; readonly isShadow: boolean },
): ReadDocument | null {
  const json = parseJson(text)
  const document = json.ok ? viewPolicySchema.safeParse(json.value).data : undefined
  if (document?.id !== id || document.org !== org) return null
  const { self_test = [], ...policy } = document
  return { policy: isShadow ? { ...policy, mode: 'shadow' } : policy, selfTest: self_test }
}
