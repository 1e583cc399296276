import { EMBEDDINGS, U_OCTET_BITS, type Embedding } from '../../address/embedded-ipv4.ts'
import type { IpRange } from '../../address/ip-range.ts'
import { runSteps } from '../../steps.ts'
import { Ipv6Search } from './interval-search.ts'
import { flattenRanges } from './intervals.ts'
import { sortRanges } from './sorted-ranges.ts'

/** `::` and `::1`, which the IPv4-compatible range includes, carry nothing. */
const UNSPECIFIED_AND_LOOPBACK: IpRange = { family: 6, base: 0n, prefix: 127 }

/** Finds the IPv4 addresses inside IPv6 ones. What it has read holds until it reads again. */
export class EmbeddingIndex {
  /** The IPv4 addresses just read, 32 bits each. */
  readonly inner: Uint32Array
  readonly #carrying: readonly IpRange[]
  #search: Ipv6Search | null = null
  /** The first 16 bits of what carries anything: to compare them takes a fifth of a search. */
  readonly #beginnings: readonly number[]
  readonly #waysOf: readonly (readonly Embedding[])[]
  #ways: readonly Embedding[] = []

  constructor() {
    const carrying = [...new Set(EMBEDDINGS.map(({ range }) => range))]
    this.#carrying = carrying
    this.#waysOf = [[], ...carrying.map((range) => EMBEDDINGS.filter((way) => way.range === range))]
    this.#beginnings = [...new Set(carrying.map(({ base }) => Number(base >> 112n)))]
    this.inner = new Uint32Array(Math.max(...this.#waysOf.map(({ length }) => length)))
  }

  /** Reads every IPv4 address inside the IPv6 address of four words; returns how many: mostly 0. */
  read(words: Uint32Array): number {
    if (!this.#beginsLikeOne(words[0]! >>> 16)) return 0
    this.#search ??= buildSearch(this.#carrying)
    const ways = this.#waysOf[this.#search.find(words)]!
    this.#ways = ways
    for (let at = 0; at < ways.length; at += 1) this.inner[at] = extract(ways[at]!, words)
    return ways.length
  }

  #beginsLikeOne(bits: number): boolean {
    for (const beginning of this.#beginnings) if (beginning === bits) return true
    return false
  }

  /** How many leading bits of the outer address fix the first `bits` bits of `inner[at]`. */
  outerBits(at: number, bits: number): number {
    return this.#ways[at]!.outerBits(bits)
  }
}

/** Finds the number of the range that an address lies in, from 1 on, or 0. */
function buildSearch(carrying: readonly IpRange[]): Ipv6Search {
  const ranges = sortRanges([...carrying, UNSPECIFIED_AND_LOOPBACK], 4)
  const numberOf = (range: number): number => (range < carrying.length ? range + 1 : 0)
  return new Ipv6Search(runSteps(flattenRanges(ranges, numberOf)))
}

/** As `Embedding.extract`, without the microsecond that BigInts would cost. */
function extract({ start, split, isInverted }: Embedding, words: Uint32Array): number {
  const head = bitsAt(words, start, split)
  const tail = split === 32 ? 0 : bitsAt(words, start + split + U_OCTET_BITS, 32 - split)
  const bits = (head << (32 - split)) | tail
  return isInverted ? ~bits : bits
}

/** Up to 32 bits, counted from the left. */
function bitsAt(words: Uint32Array, start: number, count: number): number {
  const word = start >>> 5
  const offset = start & 31
  const rest = offset === 0 ? 0 : words[word + 1]! >>> (32 - offset)
  return ((words[word]! << offset) | rest) >>> (32 - count)
}
