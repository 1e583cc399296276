import type { DomainName } from '../case.ts'

/** The goals of one domain. Values are ratios unless a unit is given. */
export interface Bounds {
  /** `decide` divided by `Map.get` with as many keys; mixed requests, fresh strings. */
  readonly baseline: { readonly must: number; readonly sizes: readonly number[] }
  /** Our time at 10,000 resources divided by that at 100. */
  readonly growth: number
  /** How many times faster than the best peer at 1,000 resources. */
  readonly peersAt1000: number
  /** Milliseconds of the first compilation in a new process, by the number of resources. */
  readonly compileMs: Readonly<Record<number, number>>
  /** Retained bytes: per resource, and a fixed part. */
  readonly memory: { readonly perResource: number; readonly fixed: number }
  /** Sizes that the memory goal applies to. */
  readonly memorySizes: readonly number[]
}

export const BOUNDS: Readonly<Record<DomainName, Bounds>> = {
  hosts: {
    baseline: { must: 2.75, sizes: [100, 1000, 10_000, 50_000] },
    growth: 1.5,
    peersAt1000: 120,
    compileMs: { 1000: 40, 50_000: 500 },
    memory: { perResource: 250, fixed: 0 },
    memorySizes: [10_000, 50_000],
  },
  addresses: {
    baseline: { must: 3, sizes: [100, 1000, 10_000, 50_000] },
    growth: 1.5,
    peersAt1000: 2.5,
    compileMs: { 1000: 40, 50_000: 500 },
    memory: { perResource: 250, fixed: 0 },
    memorySizes: [10_000, 50_000],
  },
  paths: {
    baseline: { must: 5, sizes: [100, 1000, 10_000] },
    growth: 1.8,
    peersAt1000: 12,
    compileMs: { 1000: 40, 50_000: 500 },
    memory: { perResource: 1000, fixed: 4 * 1024 * 1024 },
    memorySizes: [10_000],
  },
}

/**
 * How many times as fast as the best peer at 10 resources, where one RegExp that returns only yes
 * or no wins.
 */
export const PEERS_AT_10 = 0.4

/** The most milliseconds for the first decision on the worst input. */
export const WORST_MS = 15

/**
 * The most milliseconds for an explanation in which every rule of the largest organization matches.
 */
export const EXPLAIN_ALL_MS = 50
