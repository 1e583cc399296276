import {
  CONNECT_FORMS,
  DOMAIN_NAMES,
  EXPLAIN_CALLS,
  WORST_INPUTS,
  type Case,
  type DomainName,
  type Mix,
  type Strings,
} from './case.ts'

export const GROUPS = [...DOMAIN_NAMES, 'connect', 'compile', 'organization', 'worst'] as const
export type Group = (typeof GROUPS)[number]

export interface Plan {
  readonly cases: readonly PlannedCase[]
  /** No case starts later. The remaining cases are reported as left out. */
  readonly lastStartMs: number
  /** A case that is still running then is stopped. */
  readonly totalMs: number
}

export interface PlannedCase {
  readonly case: Case
  /** Number of processes that take a reading each; see `mergeRuns`. */
  readonly runs: number
}

interface Extent {
  readonly sizes: readonly number[]
  readonly compileSizes: readonly number[]
  /** Sizes at which the single mixes, warm strings and `explain` are measured. */
  readonly detailSizes: readonly number[]
  /** Sizes at which the hostile kinds are measured separately. */
  readonly kindSizes: readonly number[]
  readonly mixes: readonly Mix[]
  readonly budgetMs: number
  /** Processes per case with single readings. */
  readonly runs: number
  /** Processes per case of which the quietest counts. */
  readonly quietRuns: number
  readonly lastStartMs: number
  readonly totalMs: number
}

const FULL: Extent = {
  sizes: [10, 100, 1000, 10_000, 50_000],
  compileSizes: [1000, 10_000, 50_000],
  detailSizes: [10, 100, 1000, 10_000, 50_000],
  kindSizes: [1000, 10_000],
  mixes: ['allow', 'deny', 'miss', 'hostile'],
  budgetMs: 1500,
  runs: 5,
  quietRuns: 3,
  lastStartMs: 560_000,
  totalMs: 598_000,
}

const QUICK: Extent = {
  sizes: [10, 100, 1000, 10_000],
  compileSizes: [10_000],
  detailSizes: [1000],
  kindSizes: [1000],
  mixes: ['hostile'],
  budgetMs: 350,
  runs: 1,
  quietRuns: 1,
  lastStartMs: 50_000,
  totalMs: 58_000,
}

/** Lists the cases of a run. Cases with goals come first, because the time may run out. */
export function planRun(quick: boolean, only: Group | null): Plan {
  const extent = quick ? QUICK : FULL
  const groups = GROUPS.filter((group) => only === null || group === only)
  const domains = DOMAIN_NAMES.filter((name) => groups.includes(name))
  const once = (cases: readonly Case[]): PlannedCase[] =>
    cases.map((each) => ({ case: each, runs: 1 }))
  const often = (cases: readonly Case[]): PlannedCase[] =>
    cases.map((each) => ({ case: each, runs: extent.runs }))
  const cases = [
    ...domains.flatMap((domain) =>
      extent.sizes.map((size) => ({ case: alone(domain, size, extent), runs: extent.quietRuns })),
    ),
    ...once(domains.flatMap((domain) => extent.sizes.map((size) => mixed(domain, size, extent)))),
    ...(groups.includes('worst') ? often(worstCases()) : []),
    ...once(domains.flatMap((domain) => kindCases(domain, extent))),
    ...(groups.includes('compile')
      ? [...often(compileCases('first compile', extent)), ...once(compileCases('compile', extent))]
      : []),
    ...(groups.includes('organization') ? once(organizationCases(extent)) : []),
    ...(groups.includes('connect') ? once(connectCases(extent)) : []),
    ...once(domains.flatMap((domain) => detailCases(domain, extent))),
  ]
  return { cases, lastStartMs: extent.lastStartMs, totalMs: extent.totalMs }
}

function mixed(
  domain: DomainName,
  size: number,
  { budgetMs }: Extent,
): Extract<Case, { kind: 'decide' }> {
  return { kind: 'decide', domain, size, mix: 'mixed', strings: 'fresh', peers: true, budgetMs }
}

function alone(domain: DomainName, size: number, extent: Extent): Case {
  return { ...mixed(domain, size, extent), peers: false, budgetMs: (extent.budgetMs * 2) / 3 }
}

function detailCases(domain: DomainName, { detailSizes, mixes, budgetMs }: Extent): Case[] {
  const withoutPeers = (size: number, mix: Mix, strings: Strings): Case => ({
    kind: 'decide',
    domain,
    size,
    mix,
    strings,
    peers: false,
    budgetMs: budgetMs / 3,
  })
  return detailSizes.flatMap((size): Case[] => [
    withoutPeers(size, 'mixed', 'warm'),
    ...mixes.map((mix) => withoutPeers(size, mix, 'fresh')),
    { kind: 'explain', domain, size, budgetMs: budgetMs / 3 },
  ])
}

function kindCases(domain: DomainName, { kindSizes, budgetMs }: Extent): Case[] {
  return kindSizes.map((size): Case => ({ kind: 'kinds', domain, size, budgetMs: 2 * budgetMs }))
}

function compileCases(
  kind: 'compile' | 'first compile',
  { compileSizes, budgetMs }: Extent,
): Case[] {
  return DOMAIN_NAMES.flatMap((domain) =>
    compileSizes.map((size): Case => ({ kind, domain, size, budgetMs })),
  )
}

function connectCases({ detailSizes, budgetMs }: Extent): Case[] {
  return CONNECT_FORMS.flatMap((form) =>
    detailSizes.map((size): Case => ({ kind: 'connect', form, size, budgetMs: budgetMs / 2 })),
  )
}

function organizationCases({ budgetMs }: Extent): Case[] {
  const whole = { kind: 'organization', policies: 100, rulesPerPolicy: 250, budgetMs } as const
  return [
    { ...whole, call: 'decide' },
    { ...whole, call: 'explain' },
  ]
}

function worstCases(): Case[] {
  return [
    ...WORST_INPUTS.map((input): Case => ({ kind: 'first decision', input })),
    ...EXPLAIN_CALLS.map((call): Case => ({ kind: 'explain all', call })),
  ]
}
