import type { RuleMatch } from '@palisade/policy-core'

export interface ResolvedAddress {
  readonly address: string
  readonly decision: 'allow' | 'deny'
  readonly reason: string
}

type Written<T> = { readonly [K in keyof T]: T[K] | undefined }

/**
 * The printed part of a decision, from the library or from the agent's wire. Their types differ
 * only in `undefined`.
 */
export interface DecisionAnswer {
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  readonly rules: readonly RuleMatch[]
  /** Number of deciding rules that the agent omitted. */
  readonly rules_omitted?: number | undefined
  readonly request:
    | ({ readonly action: string } & Partial<
        Written<{ host: string; port: number; address: string; path: string }>
      >)
    | null
  readonly revision: number | null
  readonly stale: boolean
  readonly address_required?: true | undefined
  /** The decision if every shadow policy were enforced, where it differs. */
  readonly shadow?:
    | {
        readonly decision: 'allow' | 'deny'
        readonly reason: string
        readonly rules: readonly RuleMatch[]
      }
    | undefined
  /** Present if the agent resolved the name; empty if the name has no address now. */
  readonly addresses?: readonly ResolvedAddress[] | undefined
  /** Present while a grant is in force on this machine. */
  readonly break_glass?: true | undefined
  readonly hint: string | null
  /** The organization's text after a denial by its policies. */
  readonly support_message?: string | undefined
}

export interface ExplanationAnswer extends DecisionAnswer {
  readonly matched: readonly (RuleMatch & {
    readonly deciding: boolean
    readonly active: boolean
    readonly expired?: true | undefined
    readonly shadow?: true | undefined
  })[]
  /** Number of matched rules that the agent omitted, including `rules_omitted`. */
  readonly matched_omitted?: number | undefined
  readonly near_misses: readonly (RuleMatch & {
    readonly miss: string
    readonly message: string
  })[]
  readonly detail: string | null
}

/** Evaluates with a policy file in this process, or asks the agent. */
export interface Evaluator {
  /** Whether only the organization can allow more. */
  readonly governed: boolean
  decide(request: unknown): Promise<DecisionAnswer>
  /** Decides many requests in order, without resolving a name. */
  decideMany(requests: readonly unknown[]): Promise<readonly DecisionAnswer[]>
  explain(request: unknown): Promise<ExplanationAnswer>
}

/** Whether the address decides: no rule matches the name, and one may match its address. */
export function dependsOnAddress(answer: DecisionAnswer): boolean {
  return answer.decision === 'deny' && answer.address_required === true
}
