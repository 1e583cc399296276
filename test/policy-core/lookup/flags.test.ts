import { ACTIONS, FILESYSTEM_ACTIONS, NETWORK_ACTIONS, type Action } from '@palisade/policy-core'
import { describe, expect, it, test } from 'vitest'
import {
  allows,
  denies,
  enterClass,
  flagOf,
  opens,
  PORT_SENSITIVE,
  PROTECTED,
  SAYS,
  withGroup,
  withOpening,
} from '../../../packages/policy-core/src/lookup/flags.ts'
import { slotOf } from '../../../packages/policy-core/src/policy/policy.ts'

/** The slots for which flags have bits. */
const SLOTS = [0, 1, 2, 3] as const

const DOMAINS: readonly (readonly Action[])[] = [NETWORK_ACTIONS, FILESYSTEM_ACTIONS]

it('numbers the actions of each domain from 0', () => {
  expect(DOMAINS.map((all) => all.map(slotOf))).toEqual(
    DOMAINS.map((all) => SLOTS.slice(0, all.length)),
  )
})

describe.each(SLOTS)('the flags of slot %i', (slot) => {
  it('are distinct from those of every other slot', () => {
    const [deny, allow] = [flagOf('deny', slot), flagOf('allow', slot)]

    expect(SLOTS.filter((other) => denies(deny, other))).toEqual([slot])
    expect(SLOTS.filter((other) => allows(allow, other))).toEqual([slot])
    expect(SLOTS.filter((other) => allows(deny, other) || denies(allow, other))).toEqual([])
  })

  it('open a protected class only for their slot', () => {
    const opened = withGroup(enterClass(0), withOpening(flagOf('allow', slot)))

    expect(SLOTS.filter((other) => opens(opened, other))).toEqual([slot])
    expect(SLOTS.filter((other) => opens(enterClass(opened), other))).toEqual([])
    expect(enterClass(opened) & PROTECTED).toBe(PROTECTED)
  })

  it('open no protected class unless they say so', () => {
    const closed = withGroup(enterClass(0), flagOf('allow', slot))

    expect(SLOTS.filter((other) => opens(closed, other))).toEqual([])
    expect(allows(closed, slot)).toBe(true)
  })

  it('fit into 16 bits beside those of addresses', () => {
    const all = withGroup(0, withOpening(flagOf('allow', slot) | flagOf('deny', slot)))

    expect(Uint16Array.of(all)[0]).toBe(all)
    expect(all & (PROTECTED | PORT_SENSITIVE)).toBe(0)
    expect(SAYS & flagOf('deny', slot)).not.toBe(0)
  })
})

test('every action has a slot with flags', () => {
  expect(ACTIONS.filter((action) => !SLOTS.some((slot) => slot === slotOf(action)))).toEqual([])
})
