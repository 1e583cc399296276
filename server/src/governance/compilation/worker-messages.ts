import type { Decision } from '@palisade/policy-core'
import type { DefaultDecision } from '@palisade/protocol'

/** Settings of the organization and the teams that a decision depends on. */
export interface EvaluatedSettings {
  readonly resolve_unlisted_names: boolean
  readonly default: DefaultDecision
}

/** Messages to the worker that compiles policies. `set` is the number of a set. */
export type WorkerRequest =
  /** Adds a policy, a `DetailedPolicy` in JSON, to a set before its compilation. */
  | { readonly kind: 'add'; readonly set: number; readonly policy: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'drop'; readonly set: number }
  | WorkerJob

/** Requests with a reply, which repeats `job`. */
export type WorkerJob =
  | {
      readonly kind: 'compile'
      readonly set: number
      readonly job: number
      readonly settings: EvaluatedSettings
    }
  | {
      readonly kind: 'decide'
      readonly set: number
      readonly job: number
      readonly request: unknown
      /** Milliseconds since 1970. */
      readonly now: number
    }

/** Sent by the worker once, before all replies. */
export const READY = 'ready'

export type WorkerReply =
  | { readonly kind: 'compiled'; readonly job: number; readonly tookMs: number }
  | { readonly kind: 'decided'; readonly job: number; readonly decision: Decision }
  | { readonly kind: 'failed'; readonly job: number; readonly message: string }
