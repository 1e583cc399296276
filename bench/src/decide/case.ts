import type { Rows } from '../figures/table.ts'
import type { DomainName } from '../workload/domain.ts'

/**
 * The measurement of one process. Sizes count resources, and each scenario has one resource per
 * rule.
 */
export type Case =
  | ({
      readonly kind: 'decide'
      /** `mixed` is 50 % allow, 10 % deny and 40 % miss; `hostile` is malformed or expensive. */
      readonly mix: 'mixed' | 'hostile'
      /** Whether other matchers run as well. They are only measured on the mixed stream. */
      readonly peers: boolean
    } & Timed)
  | ({ readonly kind: 'compile' } & Timed)
  | {
      /** Requests of a name with its resolved address, which no peer can express. */
      readonly kind: 'connect'
      readonly size: number
      readonly budgetMs: number
    }
  | {
      /** The first compilation in a new process, as at the start of an agent. */
      readonly kind: 'first compile'
      readonly domain: DomainName
      readonly size: number
    }
  | {
      /** The first decision in a new process, on the worst input for a matcher. */
      readonly kind: 'first decision'
      readonly input: WorstInput
    }
  | {
      /** One explanation in which every rule of the largest organization matches. */
      readonly kind: 'explain all'
      readonly call: ExplainCall
    }

interface Timed {
  readonly domain: DomainName
  readonly size: number
  readonly budgetMs: number
}

export const WORST_INPUTS = [
  '24 ** against 400 segments',
  '253 characters, 50,000 suffixes',
  'path patterns near their limit',
] as const
export type WorstInput = (typeof WORST_INPUTS)[number]

/**
 * `first` includes the lazy compilation of `explain` by V8. `warm` repeats the call in the same
 * process.
 */
export const EXPLAIN_CALLS = ['first', 'warm'] as const
export type ExplainCall = (typeof EXPLAIN_CALLS)[number]

/** The most rules that one organization may have: policies times rules per policy. */
export const MATCHING_RULES = 25_000

export interface CaseResult {
  /** A row for each contender, the baseline first. */
  readonly rows: Rows
  /** Contenders that were not measured, and why. */
  readonly left_out: readonly string[]
}

/** The name of a case as progress lines, tables and goals have it. */
export function nameOfCase(each: Case): string {
  switch (each.kind) {
    case 'decide':
      if (each.mix === 'hostile') return `${each.domain} ${each.size}, hostile`
      return `${each.domain} ${each.size}${each.peers ? '' : ', alone'}`
    case 'compile':
    case 'first compile':
      return `${each.kind} ${each.domain} ${each.size}`
    case 'connect':
      return `name and address ${each.size}`
    case 'first decision':
      return `first decision: ${each.input}`
    case 'explain all':
      return `explain, ${MATCHING_RULES} rules match, ${each.call}`
  }
}
