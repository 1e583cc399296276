import { createHmac } from 'node:crypto'
import { ensureSecret } from '../../tokens/ensure-secret.ts'
import type { Store, StoreReader } from '../../store/store.ts'

const HEX_DIGITS = 32

/**
 * The name of what is signed for one set of teams: 128 bits that tell nothing about the teams to
 * whoever has not the organization's secret, and that nobody can make for another set. The order of
 * `teams` does not matter, nor does a repeated one.
 */
export function formatViewId(secret: Uint8Array, org: string, teams: readonly string[]): string {
  const scopeSet = [...new Set(teams)].toSorted()
  const hmac = createHmac('sha256', secret).update(JSON.stringify([org, ...scopeSet]))
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
