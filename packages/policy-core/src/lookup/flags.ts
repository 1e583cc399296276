import type { RuleDecision } from '../policy/policy.ts'

/**
 * The effect of a group of resources, in bits, so that `|` joins sets of groups. Each domain has up
 * to four actions, and each action has two bits: deny, allow. The other bits concern addresses.
 */
const DENY = 0b01
const ALLOW = 0b10
const DENIES = 0b0101_0101
const ALLOWS = 0b1010_1010
const OPEN_SHIFT = 8

/** All bits of a rule itself. */
export const SAYS: number = DENIES | ALLOWS
/** The allows that open a protected class, as long as no class is entered after them. */
const OPENS = ALLOWS << OPEN_SHIFT
/** The address lies in a protected class. */
export const PROTECTED = 0b0001_0000_0000
/** The effect of the set depends on the port. */
export const PORT_SENSITIVE = 0b0100_0000_0000
/** Some rule begins, expires or is a shadow rule, so the effect depends on the selected rules. */
export const CONDITIONAL = 0b0001_0000_0000_0000

/** Flags of rules, groups or sets, by their number. */
export type FlagList = Uint16Array

/** Index of an action among the actions of its domain, from 0 to 3; see `slotOf`. */
export type ActionSlot = number

/** Tells whether the flags contain a deny. */
export function isDeny(flags: number): boolean {
  return (flags & DENIES) !== 0
}

/** The bit of a rule of this kind about this action. */
export function flagOf(decision: RuleDecision, slot: ActionSlot): number {
  return (decision === 'deny' ? DENY : ALLOW) << (2 * slot)
}

export function isConditional(flags: number): boolean {
  return (flags & CONDITIONAL) !== 0
}

export function denies(flags: number, slot: ActionSlot): boolean {
  return (flags & (DENY << (2 * slot))) !== 0
}

export function allows(flags: number, slot: ActionSlot): boolean {
  return (flags & (ALLOW << (2 * slot))) !== 0
}

/** Tells whether an allow inside every protected class of the address opens it for the action. */
export function opens(flags: number, slot: ActionSlot): boolean {
  return (flags & ((ALLOW << (2 * slot)) << OPEN_SHIFT)) !== 0
}

/** The flags of a rule whose allows open the protected classes that contain its resources. */
export function withOpening(flags: number): number {
  return flags | ((flags & ALLOWS) << OPEN_SHIFT)
}

/** Adds the flags of a further group, whose opening allows open the classes entered so far. */
export function withGroup(flags: number, group: number): number {
  return flags | group
}

/** The flags inside a protected class: allows from outside the class open no address in it. */
export function enterClass(flags: number): number {
  return (flags & ~OPENS) | PROTECTED
}
