import type { Policy } from '@palisade/policy-core'
import type { AccessReview } from '@palisade/protocol'
import type { EvidenceStore, StoredEvidence } from '../../evidence/store/evidence-store.ts'
import { formatPolicy } from '../../store/aggregates/policies/format-policy.ts'
import { createAnswerTurns } from '../../work/answer-turns.ts'
import type { Payer, Work, WorkBudget } from '../../work/work-budget.ts'
import { limitExceeded, type ApiError } from '../../platform/api-error.ts'
import { isOutOfMemory, type StartWorker } from '../../platform/start-worker.ts'
import { listHeads } from '../../store/list-heads.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import { callWorker, SilentWorkerError } from '../../work/worker-calls.ts'
import type { Approval, RecordedDenial, ReviewJob } from './evaluate-review.ts'
import type { Allowed } from './require-grantable.ts'
import type { EvaluatedReview } from './serve-reviews.ts'

/** A set of this size compiles in a fifth of a second; a review compiles it for each resource. */
const MAX_RESOURCES = 2_000
/** The most text of resources, in UTF-16 code units: long paths take time and memory. */
const MAX_TEXT = 128 * 1024
/** Denials that are looked at. */
const PAGE = { rows: 500, pages: 4 } as const
const RECENT_MS = 30 * 24 * 60 * 60_000
/** The process of one review: its memory, and its time on a busy machine. */
const MAX_HEAP_MIB = 128
const TIME_LIMIT_MS = 20_000
/** Processor time that its start takes. */
const START_MS = 100

/** A grant, or a request for one, of a user. */
export interface Reviewed extends Allowed {
  readonly org: string
  readonly username: string
}

export interface ReviewsDeps {
  readonly evidence: Pick<EvidenceStore, 'list'>
  readonly now: () => Date
  readonly store: Pick<Store, 'read'>
  readonly budget: Pick<WorkBudget, 'begin' | 'beginOwn'>
  /** Starts a child process: V8 may abort the process of a thread that has too little memory. */
  readonly startProcess: StartWorker
}

/**
 * Makes reviews, one at a time in an organization, and charges them: many patterns in policies make
 * one take a second. An approval waits for no debt of other callers. Throws the errors of
 * `evaluateReview`, 429, 403 for one that takes too much time or memory, and the cause when its
 * process ends otherwise.
 */
export type MakeReview = (
  payer: Payer,
  reviewed: Reviewed,
  approval?: Approval | null,
) => Promise<AccessReview>

export function createReviews(deps: ReviewsDeps): MakeReview {
  const { budget, startProcess } = deps
  const turns = createAnswerTurns()

  async function review(payer: Payer, reviewed: Reviewed, approval: Approval | null) {
    const work = approval === null ? budget.begin(payer) : budget.beginOwn(payer)
    try {
      const job = { ...(await readJob(deps, reviewed, work)), approval }
      return await evaluateInProcess(startProcess, job, work)
    } finally {
      work.end()
    }
  }

  return (payer, reviewed, approval = null) =>
    turns.run(payer.org, () => review(payer, reviewed, approval), payer.caller)
}

/** In a process of its own: reviews are rare, and its memory is freed. Charges failed ones too. */
async function evaluateInProcess(
  startProcess: StartWorker,
  job: ReviewJob,
  work: Pick<Work, 'charge'>,
): Promise<AccessReview> {
  const beganMs = performance.now()
  const worker = startProcess('review-worker', {
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
  })
  const calls = callWorker(worker, {
    answerWithinMs: TIME_LIMIT_MS,
    refuse: ({ cause }) =>
      cause instanceof SilentWorkerError || isOutOfMemory(cause) ? tooMuch() : cause,
  })
  try {
    const { review, tookMs } = await calls.call<EvaluatedReview>(job)
    work.charge(START_MS + tookMs)
    return review
  } catch (error) {
    work.charge(performance.now() - beganMs)
    throw error
  } finally {
    await calls.end(new Error('the review is made'))
  }
}

function tooMuch(): ApiError {
  return limitExceeded('the review takes too much time or memory; ask for less at once')
}

async function readJob(
  { store, evidence, now }: ReviewsDeps,
  reviewed: Reviewed,
  work: Work,
): Promise<Omit<ReviewJob, 'approval'>> {
  const { action, resources, username } = reviewed
  const rules = await store.read((reader) => readUserRules(reader, reviewed, work))
  const nowMs = now().getTime()
  const recorded = await readDenials(evidence, reviewed, nowMs)
  return { action, resources, username, rules, nowMs, ...recorded }
}

/** Reads the policies that apply to the user, without rules about other actions. */
async function readUserRules(
  reader: StoreReader,
  { org, username, action }: Pick<Reviewed, 'action' | 'org' | 'username'>,
  work: Work,
): Promise<ReviewJob['rules']> {
  const teams = new Set(await reader.teams.listOfUser(org, username))
  const policies: Policy[] = []
  let [count, text] = [0, 0]
  for (const { id, teams: scope } of await listHeads(reader, org)) {
    if (scope.length > 0 && !scope.some((team) => teams.has(team))) continue
    await work.turn()
    const record = await reader.policies.find(org, id)
    if (record === null) continue
    const rules = record.rules.filter(({ actions }) => actions.includes(action))
    for (const { resources } of rules) {
      count += resources.length
      text += resources.reduce((sum, { length }) => sum + length, 0)
    }
    if (count > MAX_RESOURCES || text > MAX_TEXT) return null
    if (rules.length > 0) policies.push(formatPolicy({ ...record, rules }))
  }
  return policies
}

async function readDenials(
  evidence: ReviewsDeps['evidence'],
  { org, username, action }: Reviewed,
  nowMs: number,
): Promise<Pick<ReviewJob, 'complete' | 'denials'>> {
  const filter = {
    fromMs: nowMs - RECENT_MS,
    toMs: nowMs + 1,
    username,
    device_id: null,
    session: null,
    decision: 'deny',
    mode: null,
    actions: [action],
    program: null,
    rule_id: null,
    resource: null,
    text: null,
  } as const
  const denials: RecordedDenial[] = []
  let before = null
  for (let page = 0; page < PAGE.pages; page += 1) {
    const { rows, next } = await evidence.list(org, filter, { before, limit: PAGE.rows })
    denials.push(...rows.filter(isLiftable).map(toDenial))
    before = next
    if (next === null) break
  }
  return { denials, complete: before === null }
}

/** A grant lifts no other denial; a path that was cut for its upload cannot be decided. */
function isLiftable({ tuple: { path_cut, reason } }: StoredEvidence): boolean {
  return !path_cut && reason === 'default_deny'
}

function toDenial({ tuple, decisions, last_ms }: StoredEvidence): RecordedDenial {
  const { action, host, port, address, path } = tuple
  const request =
    host === null
      ? { action, path }
      : { action, host, port, ...(address === null ? {} : { address }) }
  return { request, decisions, last_ms }
}
