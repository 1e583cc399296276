import { createHash } from 'node:crypto'
import { createRateLimiter, type RateLimiter } from '../limits/rate-limiter.ts'
import { tooManyRequests } from './password-queue.ts'
import type { ClientNetwork } from '../../http/client-network.ts'

const WINDOW_MS = 60_000
/**
 * Failures of one network. The same bound applies to one account from all its unknown networks
 * together, and from each known network: people who share a network guess no faster than strangers.
 */
const FROM_NETWORK = 20
/** Failures of a /48, because one site may have 65,536 networks of /64. */
const FROM_WIDE_NETWORK = 100
/** New members with a password of one organization; each costs a slow hash. */
const MEMBERS_OF_ORGANIZATION = 300
/** Failures of a /16, or an IPv6 /32, from which on its networks are doubtful. */
const UNTIL_DOUBT = 3

/** A sign-in attempt with a password. */
export interface PasswordAttempt {
  /** Claimed and hostile: text of any length. */
  readonly name: string
  readonly network: ClientNetwork
  /** Whether the account has signed in from this network before. */
  readonly isKnown: boolean
}

/**
 * Limits of wrong secrets per minute. Methods throw 429.
 *
 * Strangers must not be able to lock users out. So an account and a network from which it has
 * signed in have a limit of their own, unaffected by failures elsewhere. Tokens cannot be guessed,
 * so they are limited by network only, and only after a token was found wrong.
 */
export interface SignInLimits {
  requirePasswordTry(attempt: PasswordAttempt): void
  countWrongPassword(attempt: PasswordAttempt): void
  /** Whether the network's /16, or IPv6 /32, recently sent wrong secrets. Never throws. */
  isDoubtful(network: ClientNetwork): boolean
  /** Counts an invalid token. */
  countWrongToken(network: ClientNetwork): void
  /** Counts a reset of another user's password, by `formatCredential` of the caller. */
  countReset(credential: string): void
  /** Counts a change of their own password by `actor`, who has proven the old one. */
  countChange(actor: string): void
  /**
   * Counts a new member with a password. The limit is per organization, not per caller, because an
   * administrator can create thousands of tokens.
   */
  countNewMember(org: string): void
}

export function createSignInLimits(monotonicMs: () => number): SignInLimits {
  const countFailures = (most: number) =>
    createRateLimiter({ most, windowMs: WINDOW_MS }, monotonicMs)
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
    countReset: (credential) => countOne(resets, credential),
    countChange: (actor) => countOne(changes, actor),
    countNewMember: (org) => countOne(newMembers, org),
  }
}

function countOne(attempts: RateLimiter, key: string): void {
  requireNoWait(attempts.waitSeconds(key))
  attempts.add(key)
}

function requireNoWait(seconds: number): void {
  if (seconds > 0) throw tooManyRequests(seconds)
}

function hashName(name: string): string {
  return createHash('sha256').update(name).digest('base64')
}
