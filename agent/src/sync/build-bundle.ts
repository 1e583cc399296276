import { parseJson, viewPolicySchema, type ViewPolicy } from '@palisade/protocol'
import type { PolicyBundle } from '../decision/policy-bundle.ts'
import type { JudgedView } from './judge-view.ts'

/** What a view comes to, together with its documents. */
export type BuiltBundle =
  | { readonly kind: 'bundle'; readonly bundle: PolicyBundle }
  | {
      readonly kind: 'unsupported'
      readonly revision: number
      readonly issued_at: string
      readonly stale_at: string
      readonly message: string
    }

/**
 * Reads the documents of a view, in its order. What this version does not know makes the whole of
 * it unsupported: a rule that is left out could be the one that denies.
 */
export function buildBundle(view: JudgedView, org: string, texts: readonly string[]): BuiltBundle {
  const { settings } = view
  const issued_at = new Date(view.issuedMs).toISOString()
  const stale_at = new Date(view.staleMs).toISOString()
  const policies = texts.flatMap((text, index) => readPolicy(text, view.documents[index]?.id, org))
  if (settings === null || policies.length < view.documents.length)
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
  }
}

/** Nothing for what is not the policy of that id, or holds what this version does not know. */
function readPolicy(text: string, id: string | undefined, org: string): ViewPolicy[] {
  const json = parseJson(text)
  const policy = json.ok ? viewPolicySchema.safeParse(json.value) : null
  if (policy?.success !== true || policy.data.id !== id || policy.data.org !== org) return []
  return [policy.data]
}
