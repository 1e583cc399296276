import type { Steps } from '@palisade/policy-core'
import { parseJson, viewPolicySchema, type ViewPolicy } from '@palisade/protocol'
import type { PolicyBundle } from '../../decision/policy-bundle.ts'
import type { SelfTest } from '../../decision/test-bundle.ts'
import type { JudgedView } from '../trust/judge-view.ts'

/** What a view comes to, together with its documents. */
export type BuiltBundle =
  | {
      readonly kind: 'bundle'
      readonly bundle: PolicyBundle
      /** What the documents have with their policies, in the same order. */
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
export type ReadBundle = (view: JudgedView, texts: readonly string[]) => Steps<BuiltBundle>

/**
 * Reads the documents of a view, in its order. What this version does not know makes the whole of
 * it unsupported: a rule that is left out could be the one that denies.
 *
 * A document that the view before listed by the same hash is not read again, and with all of them the
 * same the list is the same array: views are signed every hour and hold what they held before.
 */
export function createBundleReader(org: string): ReadBundle {
  let policies: readonly ViewPolicy[] = []
  let known = new Map<string, ReadDocument>()

  return function* (view, texts) {
    const read = new Map<string, ReadDocument>()
    for (const [index, { id, sha256 }] of view.documents.entries()) {
      yield
      const key = `${sha256} ${id}`
      const document = known.get(key) ?? readDocument(texts[index] ?? '', id, org)
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

function isSameList(a: readonly ViewPolicy[], b: readonly ViewPolicy[]): boolean {
  return a.length === b.length && a.every((policy, index) => policy === b[index])
}

/** Null for policies of which one cannot be read. */
function build(
  view: JudgedView,
  policies: readonly ViewPolicy[] | null,
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
      message: 'the policy holds what this agent does not know; update the agent',
    }
  const { revision, resolve_unlisted_names, expires_after_seconds, offline_allow = [] } = settings
  return {
    kind: 'bundle',
    bundle: {
      revision,
      issued_at,
      stale_at,
      expires_at: new Date(view.issuedMs + expires_after_seconds * 1000).toISOString(),
      settings: { resolve_unlisted_names, offline_allow },
      policies,
    },
    selfTests,
  }
}

interface ReadDocument extends SelfTest {
  readonly policy: ViewPolicy
}

/** Null for what is not the policy of that id, or holds what this version does not know. */
function readDocument(text: string, id: string, org: string): ReadDocument | null {
  const json = parseJson(text)
  const document = json.ok ? viewPolicySchema.safeParse(json.value).data : undefined
  if (document?.id !== id || document.org !== org) return null
  const { self_test = [], ...policy } = document
  return { policy, selfTest: self_test }
}
