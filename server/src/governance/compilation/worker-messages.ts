import type { Decision } from '@palisade/policy-core'

/** Messages to the worker that compiles policies. `set` is the number of a set. */
export type WorkerRequest =
  /** Adds a policy, a `PolicyBody` in JSON, to a set before its compilation. */
  | { readonly kind: 'add'; readonly set: number; readonly policy: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'drop'; readonly set: number }
  | WorkerJob

/** Requests with a reply, which repeats `job`. */
export type WorkerJob =
  | {
      readonly kind: 'compile'
      readonly set: number
      readonly job: number
      readonly resolve_unlisted_names: boolean
    }
  | {
      readonly kind: 'decide'
      readonly set: number
      readonly job: number
      readonly request: unknown
    }

/** Sent by the worker once, before all replies. */
export const READY = 'ready'

export type WorkerReply =
  | { readonly kind: 'compiled'; readonly job: number; readonly tookMs: number }
  | { readonly kind: 'decided'; readonly job: number; readonly decision: Decision }
  | { readonly kind: 'failed'; readonly job: number; readonly message: string }
