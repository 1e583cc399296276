import { createHash } from 'node:crypto'
import { countAttempts, type AttemptCount } from '../limits/count-attempts.ts'
import { tooManyRequests } from './password-queue.ts'
import type { ClientNetwork } from '../../http/client-network.ts'

const WINDOW_MS = 60_000
/**
 * Of one network; as many of one account from all networks that it has not signed in from, and as
 * many from each that it has: people who share a network guess no faster than strangers.
 */
const FROM_NETWORK = 20
/** Of the /48 around it: the networks of one site, which may have 65,536. */
const FROM_WIDE_NETWORK = 100
/**
 * New members of one organization with a password: a tenth of a core. A script that adds a thousand
 * people takes four minutes.
 */
const MEMBERS_OF_ORGANIZATION = 300
/** Of the /16, or /32 of IPv6, around it: from here on others go first. */
const UNTIL_DOUBT = 3

/** A password that somebody tries. */
export interface PasswordAttempt {
  /** Claimed; hostile text of any length. */
  readonly name: string
  readonly network: ClientNetwork
  /** Whether the account has signed in from this network before. */
  readonly isKnown: boolean
}

/**
 * Bounds on wrong secrets, each a minute. Methods throw 429 rather than answer.
 *
 * A stranger must not lock others out. So a network that an account has signed in from has a bound
 * of its own with that account, which failures elsewhere do not touch; and tokens, whose 256 bits
 * cannot be guessed, are bounded by network alone, and only after the token was found wrong.
 */
export interface SignInLimits {
  requirePasswordTry(attempt: PasswordAttempt): void
  countWrongPassword(attempt: PasswordAttempt): void
  /**
   * Whether wrong secrets came lately from the /16, or /32 of IPv6, around the network; never
   * throws.
   */
  isDoubtful(network: ClientNetwork): boolean
  /** Counts a token that is not good. */
  countWrongToken(network: ClientNetwork): void
  /** Counts a reset of somebody's password by `actor`. */
  countReset(actor: string): void
  /** Counts a change of one's own password by `actor`, who has proven the old one. */
  countChange(actor: string): void
  /**
   * Counts a new member with a password. Of an organization, not a caller: an administrator makes
   * thousands of tokens that could each add some.
   */
  countNewMember(org: string): void
}

export function createSignInLimits(monotonicMs: () => number): SignInLimits {
  const countFailures = (most: number) => countAttempts({ most, windowMs: WINDOW_MS }, monotonicMs)
  const near = countFailures(FROM_NETWORK)
  const wide = countFailures(FROM_WIDE_NETWORK)
  const elsewhere = countFailures(FROM_NETWORK)
  const known = countFailures(FROM_NETWORK)
  const around = countFailures(UNTIL_DOUBT)
  const resets = countFailures(FROM_NETWORK)
  const changes = countFailures(FROM_NETWORK)
  const newMembers = countFailures(MEMBERS_OF_ORGANIZATION)
  const waitOfNetwork = (network: ClientNetwork) =>
    Math.max(near.waitSeconds(network.near), wide.waitSeconds(network.wide))
  const countNetwork = (network: ClientNetwork) => {
    near.add(network.near)
    wide.add(network.wide)
    around.add(network.path[0])
  }

  return {
    requirePasswordTry({ name, network, isKnown }) {
      const account = hashName(name)
      requireNoWait(
        isKnown
          ? known.waitSeconds(`${account} ${network.near}`)
          : Math.max(waitOfNetwork(network), elsewhere.waitSeconds(account)),
      )
    },
    countWrongPassword({ name, network, isKnown }) {
      const account = hashName(name)
      if (isKnown) return known.add(`${account} ${network.near}`)
      countNetwork(network)
      elsewhere.add(account)
    },
    isDoubtful: (network) => around.waitSeconds(network.path[0]) > 0,
    countWrongToken(network) {
      requireNoWait(waitOfNetwork(network))
      countNetwork(network)
    },
    countReset: (actor) => countOne(resets, actor),
    countChange: (actor) => countOne(changes, actor),
    countNewMember: (org) => countOne(newMembers, org),
  }
}

function countOne(attempts: AttemptCount, key: string): void {
  requireNoWait(attempts.waitSeconds(key))
  attempts.add(key)
}

function requireNoWait(seconds: number): void {
  if (seconds > 0) throw tooManyRequests(seconds)
}

function hashName(name: string): string {
  return createHash('sha256').update(name).digest('base64')
}
