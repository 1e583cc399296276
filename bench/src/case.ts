/** What one process measures. Sizes count resources; each scenario has one resource a rule. */
export type Case =
  | {
      readonly kind: 'decide'
      readonly domain: DomainName
      readonly size: number
      readonly mix: Mix
      readonly strings: Strings
      /** Whether other matchers run too; they only ever see the mixed stream. */
      readonly peers: boolean
      readonly budgetMs: number
    }
  | {
      readonly kind: 'explain'
      readonly domain: DomainName
      readonly size: number
      readonly budgetMs: number
    }
  | {
      readonly kind: 'compile'
      readonly domain: DomainName
      readonly size: number
      readonly budgetMs: number
    }
  | {
      readonly kind: 'organization'
      readonly call: 'decide' | 'explain'
      readonly policies: number
      readonly rulesPerPolicy: number
      readonly budgetMs: number
    }

export const DOMAIN_NAMES = ['hosts', 'addresses', 'paths'] as const
export type DomainName = (typeof DOMAIN_NAMES)[number]

/** `mixed` is 50 allow, 10 deny, 40 miss; the next three are its parts; `hostile` is bad input. */
export type Mix = 'mixed' | 'allow' | 'deny' | 'miss' | 'hostile'

/** `fresh`: a new string a request, as a socket gives it. `warm`: the same objects again. */
export type Strings = 'fresh' | 'warm'

export type Unit = 'ns a decision' | 'us a resource, first' | 'us a resource' | 'B a resource'

/** One measured figure of one contender. */
export interface Figure {
  readonly contender: string
  readonly unit: Unit
  /** Median over the rounds, in `unit`. */
  readonly value: number
  /** Median over the rounds of this contender's time divided by the limit's in the same round. */
  readonly ratio: number
  /** Quartiles of the same. Null where there is a single reading. */
  readonly spread: { readonly q1: number; readonly q3: number } | null
  readonly rounds: number
}

export interface LeftOut {
  readonly contender: string
  readonly why: string
}

export interface CaseResult {
  readonly case: Case
  readonly figures: readonly Figure[]
  readonly left_out: readonly LeftOut[]
}

/** The name of a case as progress lines and tables print it. */
export function nameOfCase(each: Case): string {
  switch (each.kind) {
    case 'decide':
      return `${each.domain} ${each.size} ${each.mix} ${each.strings}`
    case 'explain':
    case 'compile':
      return `${each.kind} ${each.domain} ${each.size}`
    case 'organization':
      return `organization ${each.policies} x ${each.rulesPerPolicy} ${each.call}`
  }
}
