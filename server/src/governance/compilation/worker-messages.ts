import type { DefaultDecision } from '@palisade/protocol'

/** Settings of the organization and the teams that a decision depends on. */
export interface EvaluatedSettings {
  readonly resolve_unlisted_names: boolean
  readonly default: DefaultDecision
}

/** Messages to the worker that compiles policies. `set` is the number of a set. */
export type PolicyMessage =
  /** Adds a policy, a `DetailedPolicy` in JSON, to a set before its compilation. */
  | { readonly kind: 'add'; readonly set: number; readonly policy: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'drop'; readonly set: number }
  /** Answered with the time that it took, in milliseconds. */
  | { readonly kind: 'compile'; readonly set: number; readonly settings: EvaluatedSettings }
  /** Answered with a `Decision`. */
  | {
      readonly kind: 'decide'
      readonly set: number
      readonly request: unknown
      /** Milliseconds since 1970. */
      readonly now: number
    }
