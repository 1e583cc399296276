import { DOMAIN_NAMES, type DomainName } from '../workload/domain.ts'
import { EXPLAIN_CALLS, WORST_INPUTS, type Case } from './case.ts'

export const DECIDE_CASES = [...DOMAIN_NAMES, 'connect', 'compile', 'worst'] as const

export interface PlannedCase {
  readonly case: Case
  /** Number of processes that take a reading each; see `mergeRuns`. */
  readonly runs: number
}

interface Extent {
  readonly sizes: readonly number[]
  readonly compileSizes: readonly number[]
  /** Sizes of hostile input and connect requests. */
  readonly detailSizes: readonly number[]
  readonly budgetMs: number
  /** Processes per case with single readings. */
  readonly runs: number
  /** Processes per case of which the quietest counts. */
  readonly quietRuns: number
}

const FULL: Extent = {
  sizes: [10, 100, 1000, 10_000, 50_000],
  compileSizes: [1000, 10_000, 50_000],
  detailSizes: [10, 1000, 50_000],
  budgetMs: 1500,
  runs: 5,
  quietRuns: 3,
}

const QUICK: Extent = {
  sizes: [10, 100, 1000, 10_000],
  compileSizes: [10_000],
  detailSizes: [1000],
  budgetMs: 350,
  runs: 1,
  quietRuns: 1,
}

/** Lists the cases of a run by the names that `--only` takes. */
export function planRun(quick: boolean): Readonly<Record<string, readonly PlannedCase[]>> {
  const extent = quick ? QUICK : FULL
  const { detailSizes, runs, budgetMs } = extent
  const first = compileCases('first compile', extent)
  const worst = [
    ...WORST_INPUTS.map((input): Case => ({ kind: 'first decision', input })),
    ...EXPLAIN_CALLS.map((call): Case => ({ kind: 'explain all', call })),
  ]
  return {
    hosts: domainCases('hosts', extent),
    addresses: domainCases('addresses', extent),
    paths: domainCases('paths', extent),
    connect: take(
      1,
      detailSizes.map((size) => ({ kind: 'connect', size, budgetMs: budgetMs / 2 })),
    ),
    compile: [...take(runs, first), ...take(1, compileCases('compile', extent))],
    worst: take(runs, worst),
  }
}

function take(runs: number, cases: readonly Case[]): PlannedCase[] {
  return cases.map((each) => ({ case: each, runs }))
}

function domainCases(domain: DomainName, extent: Extent): PlannedCase[] {
  const { sizes, detailSizes, quietRuns, budgetMs } = extent
  const mixed = { kind: 'decide', domain, mix: 'mixed' } as const
  return [
    ...take(
      quietRuns,
      sizes.map((size) => ({ ...mixed, size, peers: false, budgetMs: (budgetMs * 2) / 3 })),
    ),
    ...take(
      1,
      sizes.map((size) => ({ ...mixed, size, peers: true, budgetMs })),
    ),
    ...take(
      1,
      detailSizes.map((size) => ({
        ...mixed,
        size,
        mix: 'hostile',
        peers: false,
        budgetMs: budgetMs / 3,
      })),
    ),
  ]
}

function compileCases(
  kind: 'compile' | 'first compile',
  { compileSizes, budgetMs }: Extent,
): Case[] {
  return DOMAIN_NAMES.flatMap((domain) =>
    compileSizes.map((size): Case => ({ kind, domain, size, budgetMs })),
  )
}
