import type { DomainName } from '../case.ts'

/** What a domain has to reach. Ratios unless a unit is given. */
export interface Bounds {
  /** `decide` against `Map.get` with as many keys, mixed requests, fresh strings. */
  readonly limit: { readonly must: number; readonly aim: number; readonly sizes: readonly number[] }
  /** Our time at 10,000 resources against that at 100. */
  readonly growth: number
  /** How many times faster than the best peer at 1,000 resources. */
  readonly peersAt1000: number
  /** Microseconds a resource, first compilation in a new process. */
  readonly compileUs: number
  /** Bytes held: so many a resource, and so many besides. */
  readonly memory: { readonly perResource: number; readonly fixed: number }
  /** Sizes at which compiling and memory are judged. */
  readonly compileSizes: readonly number[]
}

export const BOUNDS: Readonly<Record<DomainName, Bounds>> = {
  hosts: {
    limit: { must: 2.5, aim: 1.5, sizes: [100, 1000, 10_000, 50_000] },
    growth: 1.5,
    peersAt1000: 200,
    compileUs: 8,
    memory: { perResource: 200, fixed: 0 },
    compileSizes: [1000, 10_000, 50_000],
  },
  addresses: {
    limit: { must: 2, aim: 1.2, sizes: [100, 1000, 10_000, 50_000] },
    growth: 1.5,
    peersAt1000: 35,
    compileUs: 8,
    memory: { perResource: 200, fixed: 0 },
    compileSizes: [1000, 10_000, 50_000],
  },
  paths: {
    limit: { must: 4, aim: 2, sizes: [100, 1000, 10_000] },
    growth: 1.8,
    peersAt1000: 15,
    compileUs: 15,
    memory: { perResource: 1000, fixed: 4 * 1024 * 1024 },
    compileSizes: [1000, 10_000],
  },
}

/** Milliseconds that the worst input may take, cold. */
export const WORST_MS = 15

/** Milliseconds of an explanation where every rule of the largest organization matches. */
export const EXPLAIN_ALL_MS = 50

/** How many times slower than the median request the slowest kind of input may be. */
export const SLOWEST_KIND = 20

export const KIND_SIZES = [1000, 10_000] as const
