import { allows, denies, opens, PROTECTED, slotOf, type ActionSlot } from '../lookup/flags.ts'
import type { MatchSet } from '../lookup/match-set.ts'
import { DEFAULT_DENY, denyFor, type Verdict } from '../lookup/verdict.ts'
import type { Verdicts } from '../lookup/verdicts.ts'
import type { RuleDecision } from '../policy/policy.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import type { ConnectRequest } from './decision.ts'

const PROTECTED_DENY = denyFor('protected_address')

/**
 * The verdict on the address that `policy.addressReader` has just read as one of `family`: a deny
 * of the name, then a deny of the address or of one inside it, then protection; then whatever
 * allows either. `name` is the set for the name at the port, or null without one.
 */
export function judgeAddress(
  policy: CompiledPolicy,
  { action, port }: ConnectRequest,
  name: MatchSet | null,
  family: 4 | 6,
): Verdict {
  const slot = slotOf(action)
  if (name === null) return judgeLiteral(policy, port, slot, family)
  const { addresses, embeddings } = policy
  const { words } = policy.addressReader
  const number = family === 4 ? addresses.ipv4(words[0]! | 0) : addresses.ipv6(words)
  const carried = family === 4 ? 0 : embeddings.read(words)
  if (carried > 0) return judgeCarrying(policy, { slot, port, name, number, carried })
  return judgeAlone(policy, name, addresses.sets.at(number, port), slot)
}

/** The same without a name. */
export function judgeLiteral(
  policy: CompiledPolicy,
  port: number,
  slot: ActionSlot,
  family: 4 | 6,
): Verdict {
  const { addresses } = policy
  const { words } = policy.addressReader
  if (family === 4) return judgeNumber(policy, addresses.ipv4(words[0]! | 0), port, slot)
  const number = addresses.ipv6(words)
  const carried = policy.embeddings.read(words)
  return carried === 0
    ? judgeNumber(policy, number, port, slot)
    : judgeCarrying(policy, { slot, port, name: null, number, carried })
}

/** An address without a name, that carries no other. */
function judgeNumber(
  policy: CompiledPolicy,
  number: number,
  port: number,
  slot: ActionSlot,
): Verdict {
  const set = policy.addresses.sets.at(number, port)
  return isProtected(set.flags, slot) ? PROTECTED_DENY : policy.verdicts.of(set, slot)
}

/** An address that carries no other, with the name that led to it. */
function judgeAlone(
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

/** Whether protection decides: nothing denies the address itself, and nothing opens its class. */
function isProtected(flags: number, slot: ActionSlot): boolean {
  return (flags & PROTECTED) !== 0 && !denies(flags, slot) && !opens(flags, slot)
}

interface Carrying {
  readonly slot: ActionSlot
  readonly port: number
  readonly name: MatchSet | null
  /** What the index found for the address itself. */
  readonly number: number
  /** How many addresses are in it. */
  readonly carried: number
}

/** What the name says, then the address and those inside it. */
function judgeCarrying(
  policy: CompiledPolicy,
  { slot, port, name, number, carried }: Carrying,
): Verdict {
  const { addresses, embeddings, verdicts } = policy
  const outer = addresses.sets.at(number, port)
  const inner = Array.from({ length: carried }, (_, at) =>
    addresses.ipv4(embeddings.inner[at]! | 0),
  )
  const ofName = name === null ? [] : [name]
  const ofAddresses = [outer, ...inner.map((each) => addresses.sets.at(each, port))]
  const deny =
    conclude(verdicts, ofName, 'deny', slot) ?? conclude(verdicts, ofAddresses, 'deny', slot)
  if (deny !== null) return deny
  const prefix = openingPrefix(policy, number, inner)
  if (prefix > 0 && !isOpened(policy, outer, slot, prefix)) return PROTECTED_DENY
  return conclude(verdicts, [...ofName, outer], 'allow', slot) ?? DEFAULT_DENY
}

/** The verdict of those sets that have rules of the kind, or null. Denies are asked for first. */
function conclude(
  verdicts: Verdicts,
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
 * How long the prefix of an allow must be to lie inside every class that the address, or one
 * inside it, is in: its addresses then all carry one of the class in the same place.
 */
function openingPrefix(
  { addresses, embeddings }: CompiledPolicy,
  outer: number,
  inner: readonly number[],
): number {
  const prefixes = inner.map((set, at) => {
    const prefix = addresses.openingPrefix(set)
    return prefix === 0 ? 0 : embeddings.outerBits(at, prefix)
  })
  return Math.max(addresses.openingPrefix(outer), ...prefixes)
}

/** Whether an allow of the address has a prefix as long as that. */
function isOpened(
  { addresses, groups }: CompiledPolicy,
  address: MatchSet,
  slot: ActionSlot,
  prefix: number,
): boolean {
  return address.groups.some(
    (group) => allows(groups.flagsOf(group), slot) && addresses.prefixOf(group) >= prefix,
  )
}
