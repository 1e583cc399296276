import type { Policy } from '@palisade/policy-core'
import { expect, it, onTestFinished } from 'vitest'
import type { ReviewJob } from '../../../../server/src/fleet/access/evaluate-review.ts'
import type { EvaluatedReview } from '../../../../server/src/fleet/access/serve-reviews.ts'
import { callWorker } from '../../../../server/src/work/worker-calls.ts'
import { startBundle } from '../../started-thread.ts'

/** A deny of each file of a long path, with names of its own at each level. */
function denies(count: number): Policy {
  const path = (index: number) =>
    `/data${Array.from({ length: 500 }, (_, level) => `/${index}-${level}`).join('')}`
  const rule = {
    id: 'rule_1',
    name: 'long paths',
    actions: ['read' as const],
    decision: 'deny' as const,
    resources: Array.from({ length: count }, (_, index) => path(index)),
  }
  return { id: 'pol_1', name: 'denies', allowlist_v0: { rules: [rule] } }
}

function evaluate(rules: readonly Policy[], heapMib: number): Promise<EvaluatedReview> {
  const worker = startBundle('review-worker', {
    resourceLimits: { maxOldGenerationSizeMb: heapMib },
  })
  const refuse = ({ cause }: { readonly cause: Error }) => cause
  const calls = callWorker(worker, { answerWithinMs: 60_000, refuse })
  onTestFinished(() => calls.end(new Error('the test has ended')))
  const job: ReviewJob = {
    action: 'read',
    resources: ['/data/**'],
    approval: null,
    username: 'bob',
    rules,
    nowMs: 0,
    denials: [],
    complete: true,
  }
  return calls.call(job)
}

it('a process of its own evaluates a review', async () => {
  const { review, tookMs } = await evaluate([denies(10)], 128)

  expect(review.resources).toEqual([{ resource: '/data/**', effect: 'partly_denied' }])
  expect(tookMs).toBeGreaterThan(0)
})

it('a review that needs more memory than its process has ends that process alone', async () => {
  await expect(evaluate([denies(400)], 24)).rejects.toMatchObject({
    code: 'ERR_WORKER_OUT_OF_MEMORY',
  })
})
