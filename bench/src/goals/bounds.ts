import type { DomainName } from '../case.ts'

/** The goals of one domain. Ratios unless a unit is given. */
export interface Bounds {
  /** `decide` against `Map.get` with as many keys, mixed requests, fresh strings. */
  readonly limit: { readonly must: number; readonly sizes: readonly number[] }
  /** Our time at 10,000 resources against that at 100. */
  readonly growth: number
  /** How many times faster than the best peer at 1,000 resources. */
  readonly peersAt1000: number
  /** Milliseconds of the first compilation in a new process, by the number of resources. */
  readonly compileMs: Readonly<Record<number, number>>
  /** Bytes held: so many a resource, and so many besides. */
  readonly memory: { readonly perResource: number; readonly fixed: number }
  /** Sizes at which memory is judged. */
  readonly memorySizes: readonly number[]
}

export const BOUNDS: Readonly<Record<DomainName, Bounds>> = {
  hosts: {
    limit: { must: 2.75, sizes: [100, 1000, 10_000, 50_000] },
    growth: 1.5,
    peersAt1000: 120,
    compileMs: { 1000: 40, 50_000: 500 },
    memory: { perResource: 250, fixed: 0 },
    memorySizes: [10_000, 50_000],
  },
  addresses: {
    limit: { must: 3, sizes: [100, 1000, 10_000, 50_000] },
    growth: 1.5,
    peersAt1000: 2.5,
    compileMs: { 1000: 40, 50_000: 500 },
    memory: { perResource: 250, fixed: 0 },
    memorySizes: [10_000, 50_000],
  },
  paths: {
    limit: { must: 5, sizes: [100, 1000, 10_000] },
    growth: 1.8,
    peersAt1000: 12,
    compileMs: { 1000: 40, 50_000: 500 },
    memory: { perResource: 1000, fixed: 4 * 1024 * 1024 },
    memorySizes: [10_000],
  },
}

/**
 * How many times as fast as the best peer at 10 resources, where a RegExp that answers yes or no
 * wins.
 */
export const PEERS_AT_10 = 0.4

/** Milliseconds that the worst input may take, cold. */
export const WORST_MS = 15

/** Milliseconds of an explanation where every rule of the largest organization matches. */
export const EXPLAIN_ALL_MS = 50
