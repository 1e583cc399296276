import { invalidArgument } from '../platform/api-error.ts'
import { claimedKind } from '../identity/tokens/secret-token.ts'
import { hashPassword } from '../identity/sign-in/password.ts'
import type { Caller } from '../identity/principal.ts'
import type { PasswordQueue } from '../identity/sign-in/password-queue.ts'

/**
 * The hash of a password that somebody chose. Throws 400 naming `field`, then what `precondition`
 * throws, or 429 when too many wait: a hash that cannot be used must not take a place in the queue
 * that everybody signs in by.
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
