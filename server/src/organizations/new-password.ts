import { invalidArgument } from '../platform/api-error.ts'
import { claimedKind } from '../identity/tokens/secret-token.ts'
import { hashPassword } from '../identity/sign-in/password.ts'
import type { Caller } from '../identity/principal.ts'
import type { PasswordQueue } from '../identity/sign-in/password-queue.ts'

/**
 * The hash of a password chosen by a user. Throws 400 naming `field`, then the error of
 * `precondition`, or 429 when too many wait. The checks come first: a hash that cannot be used must
 * not take a slot in the queue of all sign-ins.
 */
export async function hashNewPassword(
  deps: {
    readonly passwordQueue: PasswordQueue
    readonly random: (bytes: number) => Uint8Array
  },
  caller: Caller,
  { password, field }: { readonly password: string; readonly field: string },
  precondition: () => Promise<void> = async () => {},
): Promise<string> {
  // The token endpoint would take it for a token, and never for this password.
  if (claimedKind(password) !== null)
    throw invalidArgument(`\`${field}\` must not look like an access token`, { field })
  await precondition()
  return deps.passwordQueue.run({ path: [caller.author.actor], standing: 'known' }, () =>
    hashPassword(password, deps.random),
  )
}
