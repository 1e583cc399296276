import type { Decision } from '@palisade/policy-core'
import { isOrganizationDenial } from '@palisade/protocol'
import type { PolicyBundle } from './policy-bundle.ts'

/** Adds the organization's text to a denial that its policies caused. */
export function withSupport<T extends Decision>(
  made: T,
  bundle: Pick<PolicyBundle, 'settings'> | undefined,
): T & { readonly support_message?: string } {
  const text = bundle?.settings.support_message
  return text !== undefined && isOrganizationDenial(made)
    ? { ...made, support_message: text }
    : made
}
