import { stagedRequestSchema, type StagedList, type StagedResult } from '@palisade/protocol'
import { setTimeout as pause } from 'node:timers/promises'
import { runInTurns } from '../../policy/decision/run-in-turns.ts'
import { loadLayerAttributes } from './layer-attributes.ts'
import { review, type Review, type ReviewDeps } from './review.ts'
import { clearJournal, openJournal, removeSession } from './session-files.ts'
import { ReviewRefusal } from './staged-entry.ts'
import type { StagedSession } from './staged-session.ts'
import type { StagedStore } from './staged-store.ts'

/** The callers of a session that runs wait for its end, which follows its command. */
const END_WAIT_MS = 15_000

/** The changes of strict sandboxes, which wait until they are applied or discarded. */
export interface StagedChanges {
  readonly list: () => Promise<StagedList>
  /** Each takes a `StagedRequest` as received. Rejects for no request. */
  readonly show: (request: unknown) => Promise<StagedResult>
  readonly apply: (request: unknown) => Promise<StagedResult>
  readonly discard: (request: unknown) => Promise<StagedResult>
}

export interface StagedChangesDeps extends Omit<ReviewDeps, 'attributes'> {
  readonly store: StagedStore
  /** Monotonic, in milliseconds. */
  readonly uptime: () => number
  readonly onError: (error: unknown) => void
}

export function createStagedChanges(deps: StagedChangesDeps): StagedChanges {
  const { store, onError } = deps
  const { directoryOf } = store
  const reviewOf = async (
    session: StagedSession,
    before?: (workspace: number, names: readonly string[]) => void,
  ): Promise<Review> => {
    const attributes = await loadLayerAttributes()
    const steps = review(directoryOf(session.id), session, { ...deps, attributes }, before)
    const found = await runInTurns(steps, new AbortController().signal, deps.uptime)
    const { allowed, conflict, failed: broken, refused } = found.counts
    await store.noteRest(session.id, refused > 0 && allowed + conflict + broken === 0)
    return found
  }
  const applyAll = async (session: StagedSession): Promise<Review> => {
    const directory = directoryOf(session.id)
    await clearJournal(directory, session)
    try {
      return await reviewOf(session, openJournal(directory))
    } finally {
      await clearJournal(directory, session)
    }
  }
  const answer = async (request: unknown, task: Task): Promise<StagedResult> => {
    const parsed = stagedRequestSchema.safeParse(request)
    if (!parsed.success) return failed('invalid_request', '`id` must be that of a strict sandbox')
    const { id } = parsed.data
    await Promise.race([store.running(id), pause(END_WAIT_MS, undefined, { ref: false })])
    if (store.running(id) !== null) return failed('running', `the sandbox \`${id}\` still runs`)
    const session = store.find(id)
    if (session === null)
      return failed('not_found', `no changes of a sandbox \`${id}\` are kept here`)
    try {
      const done = await store.alone(id, () => task(session))
      if (done === null) return failed('busy', `the changes of \`${id}\` are being handled already`)
      return { ...done, session: store.describe(session), error: null }
    } catch (error) {
      if (error instanceof ReviewRefusal) return failed('policy_not_in_force', error.message)
      onError(error)
      return failed('unavailable', 'the changes could not be read; the log of the agent says why')
    }
  }

  return {
    list: async () => ({ sessions: (await store.list()).map(store.describe) }),
    show: (request) =>
      answer(request, async (session) => ({
        ...(await reviewOf(session)),
        outcome: 'shown',
        is_kept: true,
      })),
    apply: (request) =>
      answer(request, async (session) => {
        const found = await applyAll(session)
        const { conflict, failed: broken, refused } = found.counts
        const isKept = conflict + broken + refused > 0
        if (!isKept) await removeSession(directoryOf(session.id), session)
        return { ...found, outcome: 'applied', is_kept: isKept }
      }),
    discard: (request) =>
      answer(request, async (session) => {
        await removeSession(directoryOf(session.id), session)
        return { changes: [], counts: NO_COUNTS, outcome: 'discarded', is_kept: false }
      }),
  }
}

type Task = (session: StagedSession) => Promise<Omit<StagedResult, 'session' | 'error'>>

const NO_COUNTS = { allowed: 0, applied: 0, refused: 0, conflict: 0, failed: 0 }

function failed(code: string, message: string): StagedResult {
  const error = { code, message }
  const is_kept = code !== 'not_found'
  return { outcome: 'failed', session: null, changes: [], counts: NO_COUNTS, is_kept, error }
}
