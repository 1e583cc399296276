import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  findEmbedded,
  type EmbeddedBits,
} from '../../../../packages/policy-core/src/address/embedded-ipv4.ts'
import { rangeContains } from '../../../../packages/policy-core/src/address/ip-range.ts'
import {
  machineClasses,
  protectedClasses,
  protectionsOf,
  type ProtectedClass,
} from '../../../../packages/policy-core/src/address/protected-address.ts'
import {
  buildAddressIndex,
  type AddressIndex,
  type AddressPattern,
} from '../../../../packages/policy-core/src/lookup/address/address-index.ts'
import {
  allows,
  denies,
  opens,
  PROTECTED,
  withOpening,
} from '../../../../packages/policy-core/src/lookup/flags.ts'
import { addresses, addressIn, ranges } from '../../arbitraries/address.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../every-case.ts'
import { onlyAddress, type Address, type Range } from '../../reference/address.ts'
import { wordsOf } from './words.ts'
import { runSteps } from '../../../../packages/policy-core/src/steps.ts'

const SLOTS = [0, 1] as const
const PORTS = [80, 443, 8080] as const

interface RangeSet {
  readonly patterns: readonly AddressPattern[]
  readonly machine: readonly Address[]
  readonly probes: readonly Address[]
}

describe('AddressIndex', () => {
  it('AddressIndex ≡ scan of few ranges', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 1500, casesPerRun: 60 },
      rangeSets({ minLength: 0, maxLength: 40 }, 20),
      checkSet,
    )

    expect(
      outcomes.rarerThan({
        matched: 0.15,
        unmatched: 0.1,
        'protected, closed': 0.05,
        'protected, opened': 0.01,
        'protected inside, closed': 0.01,
        'protected inside, opened': 0.0005,
      }),
    ).toEqual([])
  })

  it('AddressIndex ≡ scan of up to 5,000 ranges', { timeout: LAW_TIMEOUT_MS }, () => {
    everyCase(
      { runs: 12, casesPerRun: 600 },
      rangeSets({ minLength: 1000, maxLength: 5000, size: 'max' }, 200),
      checkSet,
    )
  })
})

function checkSet(set: RangeSet, tally: (outcome: string) => void): void {
  const machine = machineClasses(set.machine)
  const classes = protectedClasses(machine).map(({ range }) => range)
  const index = runSteps(buildAddressIndex(set.patterns, classes, flagsOf))
  for (const address of set.probes) {
    for (const port of PORTS) {
      const found = findInIndex(index, address, port)

      const expected = scan(set.patterns, machine, address, port)
      expect(found).toEqual(expected)
      tally(expected.matches.length > 0 ? 'matched' : 'unmatched')
      if (!expected.isProtected) continue
      const inside = embeddedIn(address).length === 0 ? '' : ' inside'
      tally(`protected${inside}, ${expected.opens.includes(true) ? 'opened' : 'closed'}`)
    }
  }
}

/** The rules that match an address, and their effect on each action. */
interface Meaning {
  readonly matches: readonly { readonly group: number; readonly prefix: number }[]
  readonly allows: readonly boolean[]
  readonly denies: readonly boolean[]
  readonly isProtected: boolean
  readonly opens: readonly boolean[]
}

function scan(
  patterns: readonly AddressPattern[],
  machine: readonly ProtectedClass[],
  address: Address,
  port: number,
): Meaning {
  const members = patterns
    .filter(({ range }) => rangeContains(range, address))
    .flatMap(({ range, groups }) =>
      [groups.everyPort, groups.byPort?.get(port)]
        .filter((group) => group !== null && group !== undefined)
        .map((group) => ({ group, range })),
    )
  const protections = protectionsOf(address, machine)
  const some = (test: (member: (typeof members)[number], slot: 0 | 1) => boolean) =>
    SLOTS.map((slot) => members.some((member) => test(member, slot)))
  return {
    matches: members
      .map(({ group, range }) => ({ group, prefix: range.prefix }))
      .toSorted((a, b) => a.group - b.group),
    allows: some(({ group }, slot) => allows(flagsOf(group), slot)),
    denies: some(({ group }, slot) => denies(flagsOf(group), slot)),
    isProtected: protections.length > 0,
    opens: some(
      ({ group, range }, slot) =>
        allows(flagsOf(group), slot) && protections.every((each) => each.isOpenedBy(range)),
    ),
  }
}

function findInIndex(index: AddressIndex, address: Address, port: number): Meaning {
  const set = find(index, address)
  const { flags, groups } = index.sets.at(set, port)
  const needed = neededPrefix(index, address)
  const matches = groups
    .map((group) => ({ group, prefix: index.prefixOf(group) }))
    .toSorted((a, b) => a.group - b.group)
  return {
    matches,
    allows: SLOTS.map((slot) => allows(flags, slot)),
    denies: SLOTS.map((slot) => denies(flags, slot)),
    isProtected: embeddedIn(address).length === 0 ? (flags & PROTECTED) !== 0 : needed > 0,
    opens: SLOTS.map((slot) => {
      const isOpened = matches.some(
        ({ group, prefix }) => allows(flagsOf(group), slot) && prefix >= needed,
      )
      return embeddedIn(address).length === 0 ? opens(flags, slot) : isOpened
    }),
  }
}

function find(index: AddressIndex, { family, value }: Address): number {
  return family === 4 ? index.ipv4(Number(value)) : index.ipv6(wordsOf(value))
}

function embeddedIn({ family, value }: Address): readonly EmbeddedBits[] {
  return family === 4 ? [] : findEmbedded(wordsOf(value))
}

/**
 * The least prefix of a range that opens the address with all embedded ones; 0 for no protection.
 */
function neededPrefix(index: AddressIndex, address: Address): number {
  let prefix = index.openingPrefix(find(index, address))
  for (const { bits, outerBits } of embeddedIn(address)) {
    const inner = index.openingPrefix(index.ipv4(bits))
    if (inner > 0) prefix = Math.max(prefix, outerBits(inner))
  }
  return prefix
}

/** Flags by group number, which covers every mix of deny and allow for both actions. */
function flagsOf(group: number): number {
  return withOpening((group * 7 + 5) % 16)
}

/** Distinct ranges with groups, the machine's addresses, and addresses at and around their ends. */
function rangeSets(size: fc.ArrayConstraints, probes: number): fc.Arbitrary<RangeSet> {
  const written = fc.array(fc.tuple(ranges(), fc.nat(3)), size)
  return fc
    .tuple(
      written,
      fc.array(addresses(), { maxLength: 4 }),
      fc.array(fc.tuple(fc.nat(), fc.nat(4), addresses()), {
        minLength: probes,
        maxLength: probes,
      }),
      fc.boolean(),
    )
    .map(([drawn, machine, choices, isNamed]) => {
      // Only a rule for an address of the machine opens it.
      const named = isNamed ? machine.map((address) => [onlyAddress(address), 0] as const) : []
      const distinct = new Map(
        [...drawn, ...named].map(([range, kind]) => [
          `${range.family} ${range.value}/${range.prefix}`,
          { range, kind },
        ]),
      )
      const all = [...distinct.values()]
      const classes = protectedClasses([]).map(({ range }) => ({ ...range, value: range.base }))
      const aims = [...all.map(({ range }) => range), ...machine.map(onlyAddress), ...classes]
      return {
        patterns: all.map(({ range, kind }, at) => patternOf(range, kind, 3 * at)),
        machine,
        probes: choices.map(([pick, where, other]) =>
          probe(aims[pick % aims.length]!, where, other),
        ),
      }
    })
}

function patternOf({ family, value, prefix }: Range, kind: number, group: number): AddressPattern {
  const isSingle = prefix === (family === 4 ? 32 : 128)
  const byPort = new Map([
    [80, group + 1],
    [443, group + 2],
  ])
  return {
    range: { family, base: value, prefix },
    groups: {
      everyPort: isSingle && kind === 1 ? null : group,
      byPort: isSingle && kind > 0 ? byPort : null,
    },
  }
}

/** The first or last address of a range, a neighbour outside it, or another address. */
function probe(range: Range, where: number, other: Address): Address {
  const { family } = range
  const last = (1n << (family === 4 ? 32n : 128n)) - 1n
  const end = addressIn(range, last).value
  const value = [range.value, end, range.value - 1n, end + 1n][where]
  if (value === undefined) return other
  const isMapped = family === 6 && value >> 32n === 0xffffn
  return value < 0n || value > last || isMapped ? other : { family, value }
}
