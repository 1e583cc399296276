import * as fc from 'fast-check'
import { formatAddress, type Address } from '../reference/address.ts'
import type { AddressPattern, NamePattern, NetworkPattern } from '../reference/network-pattern.ts'
import {
  addresses,
  addressIn,
  embed,
  embeddings,
  respellAddress,
  type Embedding,
} from './address.ts'
import { labels, names, nameSpellings, ports, respellName, type NameSpelling } from './name.ts'

const NAME_CHANGES = [
  'label more',
  'label less',
  'other label',
  'glued label',
  'other end',
  'below localhost',
] as const
const ADDRESS_CHANGES = ['outside', 'embedded'] as const

/** How to derive a connect request from a pattern: the near misses and the spelling. */
export interface ConnectChoice {
  readonly labels: readonly [string, string, string]
  readonly depth: number
  readonly nameChange: 'none' | (typeof NAME_CHANGES)[number]
  readonly spelling: NameSpelling
  readonly bits: bigint
  readonly addressChange: 'none' | (typeof ADDRESS_CHANGES)[number]
  readonly embedding: Embedding
  readonly addressSpelling: number
  readonly port: number
  readonly hasOtherPort: boolean
  /** The resolved address beside a name: none, any, or for address patterns one that matches. */
  readonly resolved: Address | null
  /** For address patterns: the name that resolves to the address, if any. */
  readonly name: string | null
}

export function connectChoice(): fc.Arbitrary<ConnectChoice> {
  return fc.record({
    labels: fc.tuple(labels(), labels(), labels()),
    depth: fc.nat(2),
    nameChange: mostly('none', fc.constantFrom(...NAME_CHANGES)),
    spelling: nameSpellings(),
    bits: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
    addressChange: mostly('none', fc.constantFrom(...ADDRESS_CHANGES)),
    embedding: embeddings(),
    addressSpelling: fc.nat(17),
    port: ports(),
    hasOtherPort: fc.constantFrom(false, false, false, false, true),
    resolved: fc.option(addresses(), { nil: null, freq: 1 }),
    name: fc.option(names(), { nil: null, freq: 1 }),
  })
}

interface ConnectParts {
  readonly host: string
  readonly port: number
  readonly address?: string
}

export function connectFrom(pattern: NetworkPattern, choice: ConnectChoice): ConnectParts {
  const port = choice.hasOtherPort ? choice.port : (pattern.port ?? choice.port)
  return pattern.kind === 'name'
    ? { ...namedFrom(pattern, choice), port }
    : { ...literalFrom(pattern, choice), port }
}

function namedFrom(pattern: NamePattern, choice: ConnectChoice) {
  const depths = { none: 0, one: 1, 'one or more': choice.depth + 1 }
  const all = [...choice.labels.slice(0, depths[pattern.below]), ...pattern.name.split('.')]
  const host = respellName(changed(all, choice).join('.'), choice.spelling)
  return choice.resolved === null ? { host } : { host, address: formatAddress(choice.resolved) }
}

function changed(
  labels: readonly string[],
  { nameChange, labels: [more] }: ConnectChoice,
): string[] {
  const [first = '', ...rest] = labels
  switch (nameChange) {
    case 'none':
      return [...labels]
    case 'label more':
      return [more, ...labels]
    case 'label less':
      return rest
    case 'other label':
      return [more, ...rest]
    case 'glued label':
      return [`x${first}`, ...rest]
    case 'other end':
      return [...labels, 'evil']
    case 'below localhost':
      return [...labels.slice(0, -1), 'localhost']
  }
}

function literalFrom(pattern: AddressPattern, choice: ConnectChoice) {
  const inside = addressIn(pattern.range, choice.bits)
  const literal = changedAddress(inside, pattern, choice)
  return choice.name === null
    ? { host: respellAddress(literal, choice.addressSpelling) }
    : { host: respellName(choice.name, choice.spelling), address: formatAddress(literal) }
}

function changedAddress(
  inside: Address,
  { range }: AddressPattern,
  choice: ConnectChoice,
): Address {
  switch (choice.addressChange) {
    case 'none':
      return inside
    case 'outside': {
      // The address beyond the range's last bit, the nearest possible miss.
      const bits = inside.family === 4 ? 32 : 128
      const value =
        range.prefix === 0 ? inside.value : inside.value ^ (1n << BigInt(bits - range.prefix))
      return value >> 32n === 0xffffn ? inside : { family: inside.family, value }
    }
    case 'embedded':
      return embed(inside, choice.embedding)
  }
}

function mostly<T, U>(usual: T, other: fc.Arbitrary<U>): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })
}
