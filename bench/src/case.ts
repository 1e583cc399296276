/**
 * The measurement of one process. Sizes count resources, and each scenario has one resource per
 * rule.
 */
export type Case =
  | {
      readonly kind: 'decide'
      readonly domain: DomainName
      readonly size: number
      readonly mix: Mix
      readonly strings: Strings
      /** Whether other matchers run as well. They are only measured on the mixed stream. */
      readonly peers: boolean
      readonly budgetMs: number
    }
  | ({ readonly kind: 'explain' } & Timed)
  /** Each kind of hostile input separately, beside the mixed stream. */
  | ({ readonly kind: 'kinds' } & Timed)
  | ({ readonly kind: 'compile' } & Timed)
  | {
      /** Requests that no peer can express: a name with its resolved address, and ports. */
      readonly kind: 'connect'
      readonly form: ConnectForm
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

export const DOMAIN_NAMES = ['hosts', 'addresses', 'paths'] as const
export type DomainName = (typeof DOMAIN_NAMES)[number]

/**
 * `mixed` is 50 % allow, 10 % deny and 40 % miss. `allow`, `deny` and `miss` are its parts.
 * `hostile` is malformed, unusual or expensive input.
 */
export type Mix = 'mixed' | 'allow' | 'deny' | 'miss' | 'hostile'

/**
 * `fresh` creates a new string for each request, as a socket does. `warm` reuses the string
 * objects.
 */
export type Strings = 'fresh' | 'warm'

export const CONNECT_FORMS = ['name and address', 'ports'] as const
export type ConnectForm = (typeof CONNECT_FORMS)[number]

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

/**
 * Bytes are those held by the compiled policy: `decided` after a stream of decisions, `explained`
 * after one explanation as well, because parts are built when they are first needed.
 */
export type Unit =
  | 'ns a decision'
  | 'us a resource, first'
  | 'us a resource'
  | 'B a resource'
  | 'B a resource, decided'
  | 'B a resource, explained'
  | 'ms, first'
  | 'ms, warm'

/** The middle half of the readings. */
export interface Spread {
  readonly q1: number
  readonly q3: number
}

/** One measured figure of one contender. */
export interface Figure {
  readonly contender: string
  readonly unit: Unit
  /** Median over the rounds, in `unit`. */
  readonly value: number
  /**
   * Median over the rounds of this contender's time divided by the baseline's time in the same
   * round. Null without a baseline.
   */
  readonly ratio: number | null
  /** Quartiles of the ratio, or of the value when `ratio` is null. Null for a single reading. */
  readonly spread: Spread | null
  /** For peers, the same ratio with our own time as the divisor: how many times faster we are. */
  readonly to_ours: (Spread & { readonly ratio: number }) | null
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

/** Whether a case is the mixed stream without peers. */
export function isAlone(each: Extract<Case, { kind: 'decide' }>): boolean {
  return each.mix === 'mixed' && each.strings === 'fresh' && !each.peers
}

/** The name of a case as progress lines and tables print it. */
export function nameOfCase(each: Case): string {
  switch (each.kind) {
    case 'decide':
      return (
        `${each.domain} ${each.size} ${each.mix} ${each.strings}` + (isAlone(each) ? ', alone' : '')
      )
    case 'kinds':
      return `${each.domain} ${each.size} hostile, one by one`
    case 'explain':
    case 'compile':
    case 'first compile':
      return `${each.kind} ${each.domain} ${each.size}`
    case 'connect':
      return `${each.form} ${each.size}`
    case 'organization':
      return `organization ${each.policies} x ${each.rulesPerPolicy} ${each.call}`
    case 'first decision':
      return `first decision: ${each.input}`
    case 'explain all':
      return `explain, ${MATCHING_RULES} rules match, ${each.call}`
  }
}
