import { withoutGrants } from '@palisade/policy-core'
import type { AccessGrant } from '@palisade/protocol'
import type { Enforcement } from '../state/agent-state.ts'
import type { CompiledBundle } from './compile-bundle.ts'

/** The spent ones among grants: the same set until another is spent. */
export type SpentAmong = (grants: readonly AccessGrant[]) => ReadonlySet<string>

const NO_IDS: ReadonlySet<string> = new Set()

/** Ids of the grants without effect now; the same set for the same grants until one is spent. */
export interface ClosedGrants {
  among(grants: readonly AccessGrant[], isRevoked: boolean): ReadonlySet<string>
}

/** Every grant of a revoked machine is closed, because the server may have ended it. */
export function createClosedGrants(spentAmong: SpentAmong = () => NO_IDS): ClosedGrants {
  let all: { readonly of: readonly AccessGrant[]; readonly ids: ReadonlySet<string> } | null = null
  return {
    among(grants, isRevoked) {
      if (!isRevoked) return spentAmong(grants)
      if (all?.of !== grants) all = { of: grants, ids: new Set(grants.map(({ id }) => id)) }
      return all.ids
    },
  }
}

/** The enforcement without the closed grants of the bundle but those that a connection holds. */
export function openHeld(
  rule: Enforcement<CompiledBundle>,
  whole: CompiledBundle | null,
  closedOf: (bundle: CompiledBundle) => ReadonlySet<string>,
  held: ReadonlySet<string>,
): Enforcement<CompiledBundle> {
  if (rule.kind === 'nothing' || whole === null) return rule
  const closed = new Set([...closedOf(whole)].filter((id) => !held.has(id)))
  const compiled = withoutGrants(whole.compiled, closed)
  return { ...rule, bundle: { ...rule.bundle, compiled } }
}
