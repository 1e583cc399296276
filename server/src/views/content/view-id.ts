import { createHmac } from 'node:crypto'
import { ensureSecret } from '../../store/ensure-secret.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import type { ViewRef } from '../inspect-view.ts'

const HEX_DIGITS = 32

/**
 * The name of the view for one set of teams: 128 bits. Without the organization's secret the name
 * reveals no team, and cannot be made for another set. Order and repetition in `teams` do not
 * matter. The policies of a rollout's base have separate names, so that versions of one view only
 * grow, in either direction that a machine moves.
 */
export function formatViewId(
  secret: Uint8Array,
  org: string,
  { teams, base }: Pick<ViewRef, 'teams' | 'base'>,
): string {
  const scopeSet = [...new Set(teams)].toSorted()
  // An object, which no team is.
  const kept = base === null ? [] : [{ rollout: base.rollout }]
  const hmac = createHmac('sha256', secret).update(JSON.stringify([org, ...kept, ...scopeSet]))
  return hmac.digest('hex').slice(0, HEX_DIGITS)
}

/** The secret of the organization; null before the first view of it was made. */
export function findViewSecret(reader: StoreReader, org: string): Promise<Uint8Array | null> {
  return reader.secrets.find(viewSecretName(org))
}

export function ensureViewSecret(
  store: Store,
  org: string,
  random: (bytes: number) => Uint8Array,
): Promise<Uint8Array> {
  return ensureSecret(store, viewSecretName(org), random)
}

/** Name of the organization's secret in the store. */
export function viewSecretName(org: string): string {
  return `view_ids:${org}`
}
