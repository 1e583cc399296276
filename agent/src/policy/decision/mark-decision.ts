import type { Decision } from '@palisade/policy-core'
import { isOrganizationDenial } from '@palisade/protocol'
import type { PolicyBundle } from './policy-bundle.ts'

type Marks = { readonly break_glass?: true; readonly support_message?: string }

/** Marks a grant in force. Adds the organization's text to a denial by its policies. */
export function markDecision<T extends Decision>(
  made: T,
  bundle: Pick<PolicyBundle, 'settings'> | undefined,
  isGranted: boolean,
): T & Marks {
  const text = bundle?.settings.support_message
  const told =
    text !== undefined && isOrganizationDenial(made) ? { ...made, support_message: text } : made
  return isGranted ? { ...told, break_glass: true } : told
}
