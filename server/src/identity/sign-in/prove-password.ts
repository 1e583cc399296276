import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { UserRecord } from '../../store/records.ts'
import { verifyPassword } from './password.ts'
import { formatUser } from '../principal.ts'
import { clientNetwork } from '../../http/client-network.ts'
import type { SignInJournal } from './sign-in-journal.ts'
import type { PasswordQueue, Standing } from './password-queue.ts'
import type { PasswordAttempt, SignInLimits } from './sign-in-limits.ts'

/** A known network is noted again after this time. */
const NOTE_AGAIN_MS = 24 * 60 * 60 * 1000

/**
 * Returns the user if the password is right. Returns null for a wrong password or an unknown user,
 * after the same work. Throws 429. Notes the network of a success, because `SignInLimits` treats
 * known networks separately.
 */
export type ProvePassword = (claim: PasswordClaim) => Promise<UserRecord | null>

export interface PasswordProofDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly journal: Pick<SignInJournal, 'noteNetwork' | 'noteFailure' | 'seenAt'>
  readonly signInLimits: SignInLimits
  readonly passwordQueue: PasswordQueue
  readonly now: () => Date
}

export interface PasswordClaim {
  readonly name: string
  readonly password: string
  /** Address of the client. */
  readonly address: string
  readonly requestId: string | null
}

export function createPasswordProof(deps: PasswordProofDeps): ProvePassword {
  return (claim) => provePassword(deps, claim)
}

async function provePassword(
  deps: PasswordProofDeps,
  claim: PasswordClaim,
): Promise<UserRecord | null> {
  const { name, password } = claim
  const network = clientNetwork(claim.address)
  const { user, storedAt } = await deps.store.read(async ({ users, knownNetworks }) => ({
    user: await users.find(name),
    storedAt: await knownNetworks.seenAt(name, network.near),
  }))
  const seenAt = deps.journal.seenAt(name, network.near) ?? storedAt
  const attempt = { name, network, isKnown: seenAt !== null }
  const noteFailure = (throttled: boolean): void => {
    if (user !== null) deps.journal.noteFailure(name, { network: network.near, throttled })
  }
  const requireTry = (): void => {
    try {
      deps.signInLimits.requirePasswordTry(attempt)
    } catch (error) {
      noteFailure(true)
      throw error
    }
  }
  requireTry()
  const requester = { path: network.path, standing: standingOf(deps, attempt) }
  const isRight = await deps.passwordQueue.run(requester, async () => {
    // Checked again after the wait: otherwise a burst of guesses would pass the limit.
    requireTry()
    const isProven = await verifyPassword(password, user?.password_hash ?? null)
    if (!isProven) {
      deps.signInLimits.countWrongPassword(attempt)
      noteFailure(false)
    }
    return isProven
  })
  if (!isRight || user === null) return null
  noteNetwork(deps, claim, { network: network.near, seenAt })
  return user
}

function standingOf(
  { signInLimits }: Pick<PasswordProofDeps, 'signInLimits'>,
  { network, isKnown }: PasswordAttempt,
): Standing {
  if (isKnown) return 'known'
  return signInLimits.isDoubtful(network) ? 'doubtful' : 'stranger'
}

function noteNetwork(
  { journal, now }: PasswordProofDeps,
  { name: username, address, requestId }: PasswordClaim,
  { network, seenAt }: { readonly network: string; readonly seenAt: string | null },
): void {
  if (seenAt !== null && now().getTime() - Date.parse(seenAt) < NOTE_AGAIN_MS) return
  const author = { actor: formatUser(username), address, request_id: requestId }
  journal.noteNetwork({ username, network, author, at: now().toISOString() })
}
