import type { Decision } from '@palisade/policy-core'

/** To the worker that compiles policies. Sets have numbers. */
export type WorkerRequest =
  /** A policy of a set that is to be compiled: a `PolicyBody` in JSON. */
  | { readonly kind: 'add'; readonly set: number; readonly policy: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'drop'; readonly set: number }
  | WorkerJob

/** What is replied to; the reply repeats `job`. */
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

/** Sent once, before all replies. */
export const READY = 'ready'

export type WorkerReply =
  | { readonly kind: 'compiled'; readonly job: number; readonly tookMs: number }
  | { readonly kind: 'decided'; readonly job: number; readonly decision: Decision }
  | { readonly kind: 'failed'; readonly job: number; readonly message: string }
