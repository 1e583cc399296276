import type { RuleMatch } from '@palisade/policy-core'

export interface ResolvedAddress {
  readonly address: string
  readonly decision: 'allow' | 'deny'
  readonly reason: string
}

type Written<T> = { readonly [K in keyof T]: T[K] | undefined }

/**
 * What is printed of a decision, whether the library gave it or the agent's wire: their types
 * differ in `undefined` only.
 */
export interface DecisionAnswer {
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  readonly rules: readonly RuleMatch[]
  /** Deciding rules that an agent has left out. */
  readonly rules_omitted?: number | undefined
  readonly request:
    | ({ readonly action: string } & Partial<
        Written<{ host: string; port: number; address: string; path: string }>
      >)
    | null
  readonly revision: number | null
  readonly stale: boolean
  readonly address_required?: true | undefined
  /** From an agent that resolved the name; empty when the name has no address now. */
  readonly addresses?: readonly ResolvedAddress[] | undefined
  /** While a grant is in force on this machine. */
  readonly break_glass?: true | undefined
  readonly hint: string | null
}

export interface ExplanationAnswer extends DecisionAnswer {
  readonly matched: readonly (RuleMatch & {
    readonly deciding: boolean
    readonly active: boolean
  })[]
  /** Likewise; those in `rules_omitted` as well. */
  readonly matched_omitted?: number | undefined
  readonly near_misses: readonly (RuleMatch & {
    readonly miss: string
    readonly message: string
  })[]
  readonly detail: string | null
}

/** A policy file in this process, or the agent. */
export interface Evaluator {
  /** Whether only the organization can allow more. */
  readonly governed: boolean
  decide(request: unknown): Promise<DecisionAnswer>
  explain(request: unknown): Promise<ExplanationAnswer>
}

/** Whether the name alone decides nothing: no rule speaks for it, and one might for its address. */
export function dependsOnAddress(answer: DecisionAnswer): boolean {
  return answer.decision === 'deny' && answer.address_required === true
}
