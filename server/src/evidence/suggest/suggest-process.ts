import type { StoreSettings } from '../../operations/storage/open-store.ts'
import { limitExceeded, type ApiError } from '../../platform/api-error.ts'
import { isOutOfMemory, type StartWorker } from '../../platform/start-worker.ts'
import { callWorker, SilentWorkerError } from '../../work/worker-calls.ts'
import type { EncodedPolicies } from '../encoded-policies.ts'
import type { SuggestOrganization, SuggestRules } from './suggest-input.ts'
import type { Suggestions } from './suggest.ts'

/** Crafted patterns can take long to compile and to compare, and a database long to answer. */
const TIME_LIMIT_MS = 2 * 60_000
/** Others wait for the only process. */
const GONE_CHECK_MS = 500

/** All data of a calculation, for a process of its own. */
export interface SuggestJob extends Pick<SuggestOrganization, 'teams' | 'members'> {
  /** Where the evidence is. */
  readonly store: Pick<StoreSettings, 'dataDir' | 'databaseUrl'>
  readonly org: string
  readonly fromMs: number
  readonly toMs: number
  readonly nowMs: number
  readonly policies: EncodedPolicies
  readonly rules: SuggestRules
}

/** Suggestions with the decisions that had no room in memory. */
export interface MadeSuggestions extends Suggestions {
  readonly left_out: number
}

/**
 * Runs a job in a process of its own: suggestions are rare, and its memory is freed. Throws
 * ApiError 403 when it takes too much time or memory, and an error soon after its caller has gone.
 */
export async function makeSuggestions(
  job: SuggestJob,
  {
    startWorker,
    isGone = () => false,
    timeLimitMs = TIME_LIMIT_MS,
  }: {
    readonly startWorker: StartWorker
    readonly isGone?: () => boolean
    readonly timeLimitMs?: number
  },
): Promise<MadeSuggestions> {
  const calls = callWorker(startWorker('suggest-worker', {}), {
    answerWithinMs: timeLimitMs,
    refuse: ({ cause }) =>
      cause instanceof SilentWorkerError || isOutOfMemory(cause) ? tooMuch() : cause,
  })
  const watch = setInterval(() => {
    if (isGone()) void calls.end(limitExceeded('the caller has gone'))
  }, GONE_CHECK_MS)
  try {
    const buffers = job.policies.map(({ buffer }) => buffer)
    return JSON.parse(await calls.call<string>(job, undefined, buffers)) as MadeSuggestions
  } finally {
    clearInterval(watch)
    await calls.end(new Error('the suggestions are made'))
  }
}

function tooMuch(): ApiError {
  return limitExceeded('the suggestions take too much time or memory; ask for a shorter time')
}
