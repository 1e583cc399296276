import { findEmbedded, type EmbeddedBits } from '../address/embedded-ipv4.ts'
import type { AskedAddress } from '../lookup/address/read-address.ts'
import { allows, denies, opens, PROTECTED, type ActionSlot } from '../lookup/flags.ts'
import type { MatchSet } from '../lookup/match-set.ts'
import { DEFAULT_DENY, denyFor, type Verdict } from '../lookup/verdict.ts'
import type { VerdictSource } from '../lookup/verdicts.ts'
import { slotOf, type RuleDecision } from '../policy/policy.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import type { ConnectRequest } from '../policy/decision.ts'

const PROTECTED_DENY = denyFor('protected_address')

/**
 * Evaluates an address. Precedence: a deny of the name, a deny of the address or of one
 * embedded in it, protection, an allow of the name or the address. `name` is the set for the name
 * at the port, or null without a name.
 */
export function evaluateAddress(
  policy: CompiledPolicy,
  { action, port }: ConnectRequest,
  name: MatchSet | null,
  address: AskedAddress,
): Verdict {
  const slot = slotOf(action)
  if (name === null) return evaluateLiteral(policy, port, slot, address)
  const number = findNumber(policy, address)
  const embedded = embeddedIn(address)
  if (embedded.length > 0) return evaluateCarrying(policy, { slot, port, name, number, embedded })
  return evaluateAlone(policy, name, policy.addresses.sets.at(number, port), slot)
}

/** Like `evaluateAddress`, without a name. */
export function evaluateLiteral(
  policy: CompiledPolicy,
  port: number,
  slot: ActionSlot,
  address: AskedAddress,
): Verdict {
  const number = findNumber(policy, address)
  const embedded = embeddedIn(address)
  if (embedded.length > 0)
    return evaluateCarrying(policy, { slot, port, name: null, number, embedded })
  const set = policy.addresses.sets.at(number, port)
  return isProtected(set.flags, slot) ? PROTECTED_DENY : policy.verdicts.of(set, slot)
}

/** The number of the set of ranges that contain the address. */
function findNumber({ addresses }: CompiledPolicy, address: AskedAddress): number {
  return address.family === 4 ? addresses.ipv4(address.bits) : addresses.ipv6(address.words)
}

function embeddedIn(address: AskedAddress): readonly EmbeddedBits[] {
  return address.family === 4 ? [] : findEmbedded(address.words)
}

/** The verdict on an address without embedded ones, together with the name that resolved to it. */
function evaluateAlone(
  { verdicts }: CompiledPolicy,
  name: MatchSet,
  address: MatchSet,
  slot: ActionSlot,
): Verdict {
  if (denies(name.flags, slot)) return verdicts.of(name, slot)
  if (isProtected(address.flags, slot)) return PROTECTED_DENY
  if (denies(address.flags, slot) || !allows(name.flags, slot)) return verdicts.of(address, slot)
  if (!allows(address.flags, slot)) return verdicts.of(name, slot)
  return verdicts.together([...name.groups, ...address.groups], 'allow', slot)
}

/** Whether protection decides: no rule denies the address itself, and no allow opens its class. */
function isProtected(flags: number, slot: ActionSlot): boolean {
  return (flags & PROTECTED) !== 0 && !denies(flags, slot) && !opens(flags, slot)
}

interface Carrying {
  readonly slot: ActionSlot
  readonly port: number
  readonly name: MatchSet | null
  /** The number of the set for the address itself. */
  readonly number: number
  /** The embedded addresses. */
  readonly embedded: readonly EmbeddedBits[]
}

/** The verdict on an address with embedded ones, together with the name that resolved to it. */
function evaluateCarrying(
  policy: CompiledPolicy,
  { slot, port, name, number, embedded }: Carrying,
): Verdict {
  const { addresses, verdicts } = policy
  const outer = addresses.sets.at(number, port)
  const ofName = name === null ? [] : [name]
  const inner = embedded.map(({ bits }) => addresses.sets.at(addresses.ipv4(bits), port))
  const ofAddresses = [outer, ...inner]
  const deny =
    conclude(verdicts, ofName, 'deny', slot) ?? conclude(verdicts, ofAddresses, 'deny', slot)
  if (deny !== null) return deny
  const prefix = openingPrefix(policy, number, embedded)
  if (prefix > 0 && !isOpened(policy, outer, slot, prefix)) return PROTECTED_DENY
  return conclude(verdicts, [...ofName, outer], 'allow', slot) ?? DEFAULT_DENY
}

/** The verdict of the sets that have rules of this kind, or null. Callers ask for denies first. */
function conclude(
  verdicts: VerdictSource,
  sets: readonly MatchSet[],
  decision: RuleDecision,
  slot: ActionSlot,
): Verdict | null {
  const has = decision === 'deny' ? denies : allows
  const speaking = sets.filter(({ flags }) => has(flags, slot))
  const [first, ...others] = speaking
  if (first === undefined) return null
  return others.length === 0
    ? verdicts.of(first, slot)
    : verdicts.together(
        speaking.flatMap(({ groups }) => groups),
        decision,
        slot,
      )
}

/**
 * The least prefix length of an allow that lies inside every class of the address and of embedded
 * addresses. All addresses of such an allow then carry an address of the class in the same
 * position.
 */
function openingPrefix(
  { addresses }: CompiledPolicy,
  outer: number,
  embedded: readonly EmbeddedBits[],
): number {
  const prefixes = embedded.map(({ bits, outerBits }) => {
    const prefix = addresses.openingPrefix(addresses.ipv4(bits))
    return prefix === 0 ? 0 : outerBits(prefix)
  })
  return Math.max(addresses.openingPrefix(outer), ...prefixes)
}

/** Whether an opening allow of the address has at least this prefix length. */
function isOpened(
  { addresses, groups }: CompiledPolicy,
  address: MatchSet,
  slot: ActionSlot,
  prefix: number,
): boolean {
  return address.groups.some(
    (group) => opens(groups.flagsOf(group), slot) && addresses.prefixOf(group) >= prefix,
  )
}
