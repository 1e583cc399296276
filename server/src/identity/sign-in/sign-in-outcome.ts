import { usernameSchema } from '@palisade/protocol'
import { ApiError } from '../../platform/api-error.ts'
import { claimedKind } from '../tokens/secret-token.ts'
import { clientNetwork } from '../../http/client-network.ts'

export type SignInKind = 'password' | 'personal' | 'organization' | 'oidc'
export type SignInResult = 'ok' | 'wrong_secret' | 'throttled' | 'failed'

/** Called for each sign-in attempt. */
export type ObserveSignIn = (kind: SignInKind, result: SignInResult) => void

/** A sign-in attempt as it appears in the log of its request. */
export interface SignInRecord {
  readonly kind: SignInKind
  readonly result: SignInResult
  /** The claimed name. Null for an invalid name, which may be a secret in the wrong field. */
  readonly name: string | null
  readonly network: string
}

export function describeSignIn(
  { name, secret, address }: { readonly [Member in 'name' | 'secret' | 'address']: string },
  result: SignInResult,
): SignInRecord {
  const kind = claimedKind(secret)
  const isName = usernameSchema.safeParse(name).success && claimedKind(name) === null
  return {
    kind: kind === 'personal' || kind === 'organization' ? kind : 'password',
    result,
    name: isName ? name : null,
    network: clientNetwork(address).near,
  }
}

export function resultOf(error: unknown): SignInResult {
  const status = error instanceof ApiError ? error.status : 500
  return status === 401 ? 'wrong_secret' : status === 429 ? 'throttled' : 'failed'
}
