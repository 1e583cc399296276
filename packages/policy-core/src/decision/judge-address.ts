import { allows, denies, opens, PROTECTED, slotOf, type ActionSlot } from '../lookup/flags.ts'
import type { MatchSet } from '../lookup/match-set.ts'
import { DEFAULT_DENY, denyFor, type Verdict } from '../lookup/verdict.ts'
import type { RuleDecision } from '../policy/policy.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import type { ConnectRequest } from './decision.ts'

const PROTECTED_DENY = denyFor('protected_address')

/**
 * The verdict on the address that `policy.addressReader` has just read as one of `family`: a deny
 * of the name, then a deny of the address or of one inside it, then protection; then whatever
 * allows either. `name` is what matches the name, or null without one.
 */
export function judgeAddress(
  policy: CompiledPolicy,
  { action, port }: ConnectRequest,
  name: MatchSet | null,
  family: 4 | 6,
): Verdict {
  const { addresses, embeddings } = policy
  const { words } = policy.addressReader
  const slot = slotOf(action)
  const number = family === 4 ? addresses.ipv4(words[0]!) : addresses.ipv6(words)
  const outer = addresses.sets.at(number, port)
  const carried = family === 4 ? 0 : embeddings.read(words)
  if (carried === 0) return judgeAlone(policy, name, outer, slot)

  const inner = Array.from({ length: carried }, (_, at) => addresses.ipv4(embeddings.inner[at]!))
  const prefix = openingPrefix(policy, number, inner)
  return judgeAll(policy, slot, {
    name,
    denying: [outer, ...inner.map((each) => addresses.sets.at(each, port))],
    allowing: outer,
    isClosed: prefix > 0 && !isOpened(policy, outer, slot, prefix),
  })
}

/** An address that carries no other; with the name, if any, that led to it. */
function judgeAlone(
  policy: CompiledPolicy,
  name: MatchSet | null,
  address: MatchSet,
  slot: ActionSlot,
): Verdict {
  const { verdicts } = policy
  if (name !== null && denies(name.flags, slot)) return verdicts.of(name, slot)
  if (denies(address.flags, slot)) return verdicts.of(address, slot)
  if ((address.flags & PROTECTED) !== 0 && !opens(address.flags, slot)) return PROTECTED_DENY
  if (name === null || !allows(name.flags, slot)) return verdicts.of(address, slot)
  return allows(address.flags, slot)
    ? verdicts.together([name, address], 'allow', slot)
    : verdicts.of(name, slot)
}

interface Found {
  readonly name: MatchSet | null
  readonly denying: readonly MatchSet[]
  readonly allowing: MatchSet
  /** Whether the address is protected and no allow opens it. */
  readonly isClosed: boolean
}

function judgeAll(
  policy: CompiledPolicy,
  slot: ActionSlot,
  { name, denying, allowing, isClosed }: Found,
): Verdict {
  const names = name === null ? [] : [name]
  const deny = conclude(policy, names, 'deny', slot) ?? conclude(policy, denying, 'deny', slot)
  if (deny !== null) return deny
  if (isClosed) return PROTECTED_DENY
  return conclude(policy, [...names, allowing], 'allow', slot) ?? DEFAULT_DENY
}

/** The verdict of those sets that have rules of the kind, or null. Denies are asked for first. */
function conclude(
  { verdicts }: CompiledPolicy,
  sets: readonly MatchSet[],
  decision: RuleDecision,
  slot: ActionSlot,
): Verdict | null {
  const has = decision === 'deny' ? denies : allows
  const [first, ...others] = sets.filter((set) => has(set.flags, slot))
  if (first === undefined) return null
  return others.length === 0
    ? verdicts.of(first, slot)
    : verdicts.together([first, ...others], decision, slot)
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
  outer: MatchSet,
  slot: ActionSlot,
  prefix: number,
): boolean {
  return outer.groups.some(
    (group) => allows(groups.flagsOf(group), slot) && addresses.prefixOf(group) >= prefix,
  )
}
