import { DOMAIN_NAMES, type Case, type DomainName, type Mix, type Strings } from './case.ts'

export const GROUPS = [...DOMAIN_NAMES, 'compile', 'organization'] as const
export type Group = (typeof GROUPS)[number]

export interface Plan {
  readonly cases: readonly Case[]
  /** No case starts later; what is left is named as left out. */
  readonly lastStartMs: number
  /** A case that still runs then is stopped. */
  readonly totalMs: number
}

interface Extent {
  readonly sizes: readonly number[]
  readonly compileSizes: readonly number[]
  /** Sizes at which the mixes one by one, warm strings and `explain` are measured. */
  readonly detailSizes: readonly number[]
  readonly mixes: readonly Mix[]
  readonly budgetMs: number
  readonly lastStartMs: number
  readonly totalMs: number
}

const FULL: Extent = {
  sizes: [10, 100, 1000, 10_000, 50_000],
  compileSizes: [100, 1000, 10_000, 50_000],
  detailSizes: [10, 100, 1000, 10_000, 50_000],
  mixes: ['allow', 'deny', 'miss', 'hostile'],
  budgetMs: 1200,
  lastStartMs: 285_000,
  totalMs: 298_000,
}

const QUICK: Extent = {
  sizes: [10, 100, 1000, 10_000],
  compileSizes: [1000, 10_000],
  detailSizes: [1000],
  mixes: ['hostile'],
  budgetMs: 350,
  lastStartMs: 35_000,
  totalMs: 38_500,
}

/** The cases of a run; those that matter most first, should time run out. */
export function planRun(quick: boolean, only: Group | null): Plan {
  const extent = quick ? QUICK : FULL
  const groups = GROUPS.filter((group) => only === null || group === only)
  const domains = DOMAIN_NAMES.filter((name) => groups.includes(name))
  const cases = [
    ...domains.flatMap((domain) => extent.sizes.map((size) => mixed(domain, size, extent))),
    ...(groups.includes('compile') ? compileCases(extent) : []),
    ...(groups.includes('organization') ? organizationCases(extent) : []),
    ...domains.flatMap((domain) => detailCases(domain, extent)),
  ]
  return { cases, lastStartMs: extent.lastStartMs, totalMs: extent.totalMs }
}

function mixed(domain: DomainName, size: number, { budgetMs }: Extent): Case {
  return { kind: 'decide', domain, size, mix: 'mixed', strings: 'fresh', peers: true, budgetMs }
}

function detailCases(domain: DomainName, { detailSizes, mixes, budgetMs }: Extent): Case[] {
  const alone = (size: number, mix: Mix, strings: Strings): Case => ({
    kind: 'decide',
    domain,
    size,
    mix,
    strings,
    peers: false,
    budgetMs: budgetMs / 2,
  })
  return detailSizes.flatMap((size): Case[] => [
    alone(size, 'mixed', 'warm'),
    ...mixes.map((mix) => alone(size, mix, 'fresh')),
    { kind: 'explain', domain, size, budgetMs: budgetMs / 2 },
  ])
}

function compileCases({ compileSizes, budgetMs }: Extent): Case[] {
  return DOMAIN_NAMES.flatMap((domain) =>
    compileSizes.map((size): Case => ({ kind: 'compile', domain, size, budgetMs })),
  )
}

function organizationCases({ budgetMs }: Extent): Case[] {
  const whole = { kind: 'organization', policies: 100, rulesPerPolicy: 250, budgetMs } as const
  return [
    { ...whole, call: 'decide' },
    { ...whole, call: 'explain' },
  ]
}
