import type { PolicySet, Rule } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { embed, embeddings, type Embedding } from '../../policy-core/arbitraries/address.ts'
import { formatAddress, readAddress, type Address } from '../../policy-core/reference/address.ts'
import type { PolicyPair } from './policy-pairs.ts'

/** Few addresses, so that one IPv6 address often embeds several that rules and machines use. */
const INNER = [
  '10.0.0.1',
  '10.0.0.7',
  '127.0.0.1',
  '169.254.169.254',
  '192.0.2.7',
  '245.245.245.245',
]

/**
 * Two sets about embedded IPv4 addresses, which differ in up to four rules and in the machine's
 * addresses.
 */
export function embeddedPairs(): fc.Arbitrary<PolicyPair> {
  const rule = fc.record({
    decision: fc.constantFrom<Rule['decision']>('allow', 'allow', 'deny'),
    resources: fc.array(resource(), { minLength: 1, maxLength: 2 }),
  })
  const machine = fc.subarray(['192.0.2.7', '10.0.0.7'])
  return fc
    .record({
      same: fc.array(rule, { maxLength: 3 }),
      older: fc.array(rule, { maxLength: 2 }),
      newer: fc.array(rule, { maxLength: 2 }),
      machines: fc.tuple(machine, machine),
      hasName: fc.boolean(),
    })
    .map(({ same, older, newer, machines, hasName }) => {
      const named = { decision: 'allow' as const, resources: ['a.com'] }
      const set = (more: typeof same, machine_addresses: string[]): PolicySet => ({
        policies: [
          {
            id: 'pol',
            name: 'pol',
            allowlist_v0: {
              rules: [...(hasName ? [named] : []), ...same, ...more].map((body, at) => ({
                id: `r${at}`,
                name: 'r',
                actions: ['connect:tcp'],
                ...body,
              })),
            },
          },
        ],
        machine_addresses,
      })
      return { before: set(older, machines[0]), after: set(newer, machines[1]), options: {} }
    })
}

/** A range around an embedding address, cut anywhere in the embedded bits, or the inner address. */
function resource(): fc.Arbitrary<string> {
  const inner = fc.constantFrom(...INNER).map((text) => readAddress(text)!)
  const outer = fc.tuple(inner, inner, ways(), ways()).map(([a, b, one, other]) => {
    const carrier = embed(a, one)
    // Combines both in one address when they share the prefix and use different bits.
    return carrier.family === 6 ? joined(carrier, embed(b, other)) : carrier
  })
  const prefix = fc.constantFrom(
    0,
    16,
    24,
    32,
    40,
    47,
    48,
    56,
    64,
    72,
    80,
    88,
    96,
    104,
    112,
    120,
    128,
  )
  return fc.oneof(
    { weight: 1, arbitrary: fc.tuple(inner, fc.constantFrom(0, 8, 24, 32)).map(cidr) },
    { weight: 3, arbitrary: fc.tuple(outer, prefix).map(cidr) },
    { weight: 1, arbitrary: inner.map((address) => `${formatAddress(address)}:443`) },
  )
}

/** Prefers Teredo, because only its addresses embed both a server and a client. */
function ways(): fc.Arbitrary<Embedding> {
  const teredo = fc.constantFrom<Embedding>('teredo server', 'teredo client')
  return fc.oneof({ weight: 3, arbitrary: embeddings() }, { weight: 1, arbitrary: teredo })
}

function joined(a: Address, b: Address): Address {
  const isSameBlock = a.family === b.family && a.value >> 96n === b.value >> 96n
  return isSameBlock ? { family: 6, value: (a.value & ~0xffffffffn) | (b.value & 0xffffffffn) } : a
}

function cidr([{ family, value }, wanted]: readonly [Address, number]): string {
  const bits = family === 4 ? 32 : 128
  const prefix = Math.min(wanted, bits)
  const hostBits = BigInt(bits - prefix)
  return `${formatAddress({ family, value: (value >> hostBits) << hostBits })}/${prefix}`
}
