import type { Action, RuleDecision } from '../policy/policy.ts'

/**
 * What a group of resources says, in bits, so that sets of groups are joined by `|`. Each domain
 * has two actions, and each action two bits: deny, allow. The rest is about addresses.
 */
const DENY = 0b01
const ALLOW = 0b10
const ALLOWS = 0b1010
const OPEN_SHIFT = 4

/** The address lies in a protected class. */
export const PROTECTED = 0b0001_0000
/** What the set says depends on the port. */
export const PORT_SENSITIVE = 0b0100_0000

/** Which of its domain's two actions an action is: 0 for `connect:tcp` and `read`, else 1. */
export type ActionSlot = 0 | 1

export function slotOf(action: Action): ActionSlot {
  return action === 'connect:tcp' || action === 'read' ? 0 : 1
}

/** The bit of a rule of this kind about this action. */
export function flagOf(decision: RuleDecision, slot: ActionSlot): number {
  return (decision === 'deny' ? DENY : ALLOW) << (2 * slot)
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

/** The flags with those of a further group; its allows open what is protected so far. */
export function withGroup(flags: number, group: number): number {
  return flags | group | ((group & ALLOWS) << OPEN_SHIFT)
}

/** The flags inside a protected class: what allowed from outside of it opens nothing. */
export function enterClass(flags: number): number {
  return (flags & ~(ALLOWS << OPEN_SHIFT)) | PROTECTED
}
