import type { RuleMatch } from '@palisade/policy-core'

type Written<T> = { readonly [K in keyof T]: T[K] | undefined }

/**
 * What is printed of a decision, whether the library gave it or the agent's wire: their types
 * differ in `undefined` only.
 */
export interface DecisionAnswer {
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  readonly rules: readonly RuleMatch[]
  readonly request:
    | ({ readonly action: string } & Partial<
        Written<{ host: string; port: number; address: string; path: string }>
      >)
    | null
  readonly revision: number | null
  readonly stale: boolean
  readonly address_required?: true | undefined
  /** While a grant is in force on this machine. */
  readonly break_glass?: true | undefined
  readonly hint: string | null
}

export interface ExplanationAnswer extends DecisionAnswer {
  readonly matched: readonly (RuleMatch & {
    readonly deciding: boolean
    readonly active: boolean
  })[]
  readonly near_misses: readonly (RuleMatch & { readonly message: string })[]
  readonly detail: string | null
}

/** Whoever answers: a policy file in this process, or the agent. */
export interface Evaluator {
  decide(request: unknown): Promise<DecisionAnswer>
  explain(request: unknown): Promise<ExplanationAnswer>
}
