import type { AccessReview } from '@palisade/protocol'
import type { WorkerPort } from '../../platform/start-worker.ts'
import { serveCalls } from '../../work/serve-calls.ts'
import { threadTimeMs } from '../../work/thread-time.ts'
import { evaluateReview, type ReviewJob } from './evaluate-review.ts'

export interface EvaluatedReview {
  readonly review: AccessReview
  /** Processor time, in milliseconds. */
  readonly tookMs: number
}

/** Answers a `ReviewJob` with an `EvaluatedReview`. */
export function serveReviews(port: WorkerPort): void {
  serveCalls(port, {
    handle(message): EvaluatedReview {
      const startedMs = threadTimeMs()
      const review = evaluateReview(message as ReviewJob)
      return { review, tookMs: threadTimeMs() - startedMs }
    },
  })
}
