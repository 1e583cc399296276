import type { UserRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { verifyPassword } from '../password.ts'
import { clientNetwork } from './client-network.ts'
import type { PasswordQueue } from './password-queue.ts'
import type { SignInLimits } from './sign-in-limits.ts'

/** How long a network stays noted before it is noted again. */
const NOTE_AGAIN_MS = 24 * 60 * 60 * 1000

/**
 * The user whose password it is; null when it is not, or there is no such user, after the same work.
 * Throws 429. Remembers the network of who has proven it, which `SignInLimits` tells from others.
 */
export type ProvePassword = (claim: PasswordClaim) => Promise<UserRecord | null>

export interface PasswordProofDeps {
  readonly store: Pick<Store, 'read' | 'transaction'>
  readonly signInLimits: SignInLimits
  readonly passwordQueue: PasswordQueue
  readonly now: () => Date
}

export interface PasswordClaim {
  readonly name: string
  readonly password: string
  /** Address of the client. */
  readonly address: string
}

export function createPasswordProof(deps: PasswordProofDeps): ProvePassword {
  return (claim) => provePassword(deps, claim)
}

async function provePassword(
  deps: PasswordProofDeps,
  { name, password, address }: PasswordClaim,
): Promise<UserRecord | null> {
  const network = clientNetwork(address)
  const { user, seenAt } = await deps.store.read(async ({ users, knownNetworks }) => ({
    user: await users.find(name),
    seenAt: await knownNetworks.seenAt(name, network.near),
  }))
  const attempt = { name, network, isKnown: seenAt !== null }
  deps.signInLimits.requirePasswordTry(attempt)
  const place = { lane: network.wide, isKnown: attempt.isKnown }
  const isRight = await deps.passwordQueue.run(place, async () => {
    // Once more when the turn comes, or a burst would slip through while it waits.
    deps.signInLimits.requirePasswordTry(attempt)
    const isProven = await verifyPassword(password, user?.password_hash ?? null)
    if (!isProven) deps.signInLimits.countWrongPassword(attempt)
    return isProven
  })
  if (!isRight || user === null) return null
  await noteNetwork(deps, user, { network: network.near, seenAt })
  return user
}

/** A full disk must not refuse a right password; the network then stays unknown. */
async function noteNetwork(
  { store, now }: PasswordProofDeps,
  { username }: UserRecord,
  { network, seenAt }: { readonly network: string; readonly seenAt: string | null },
): Promise<void> {
  if (seenAt !== null && now().getTime() - Date.parse(seenAt) < NOTE_AGAIN_MS) return
  await store
    .transaction(({ knownNetworks }) => knownNetworks.note(username, network, now().toISOString()))
    .catch(() => undefined)
}
