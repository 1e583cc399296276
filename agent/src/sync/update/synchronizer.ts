import { runSteps, type Steps } from '@palisade/policy-core'
import type { SyncResult } from '@palisade/protocol'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import { runInTurns } from '../../policy/decision/run-in-turns.ts'
import {
  findAwaitedIssue,
  type AwaitedIssue,
  NO_ATTEMPTS,
  recordAttempt,
  type SyncRecord,
} from './sync-status.ts'
import { createBundleReader, prepareBundle, type Prepared } from './prepare-bundle.ts'
import { describeDiskFault, eventOfFault, fault, internalFault, type Fault } from '../fault.ts'
import type { SelfTestMemory } from '../state/self-test-memory.ts'
import type { Offer, ViewChannel } from './view-channel.ts'

export interface SynchronizerDeps {
  readonly active: ActivePolicy
  readonly channel: ViewChannel
  /** Called before `restore` and each attempt with the server. */
  readonly checkConflict: () => Promise<void>
  /** Without it every start runs all self-tests. */
  readonly selfTests?: SelfTestMemory
  readonly org: string
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** Monotonic milliseconds. */
  readonly uptime?: () => number
  /** Called with a bug, which ends the attempt but not the agent. */
  readonly onError?: (error: unknown) => void
}

export interface SyncOutcome extends SyncResult {
  readonly retryAfterMs: number | null
}

export interface CacheProblem {
  /** Its present path; null if it was left in place. */
  readonly file: string | null
  readonly message: string
}

/** Brings policies into force: from disk at start, later from the server. */
export interface Synchronizer {
  /** Reads the known time from disk, so that a restart does not set it back. Before `restore`. */
  restoreTime(): Promise<void>
  /**
   * Puts the kept bundle into force, or sets a damaged one aside. Returns the reason if it is not
   * in force, which `cacheProblem` gives from then on.
   */
  restore(): Promise<CacheProblem | null>
  cacheProblem(): CacheProblem | null
  /**
   * Makes one attempt; `isNewsExpected` is true when a change is likely. Never rejects. A failure
   * leaves the bundle in force. Not reentrant.
   */
  run(signal: AbortSignal, isNewsExpected?: boolean): Promise<SyncOutcome>
  /**
   * Makes an attempt with a bundle file. It is no evidence about the server, so it is not recorded.
   */
  import(body: readonly Uint8Array[], signal: AbortSignal): Promise<SyncOutcome>
  record(): SyncRecord
  /** Version of the newest accepted assignment; 0 before the first. */
  assignmentVersion(): number
  /** The timestamp that this machine asks the server for; null while the present one suffices. */
  awaited(): AwaitedIssue | null
  /** Keeps the known time on disk. Rejects with the system's error. */
  keepTime(): Promise<void>
}

export function createSynchronizer(deps: SynchronizerDeps): Synchronizer {
  const { active, channel, selfTests, clock, uptime = () => performance.now() } = deps
  const { revocation } = channel
  const preparing = { active, readBundle: createBundleReader(deps.org) }
  let record = NO_ATTEMPTS
  let cacheProblem: CacheProblem | null = null

  const restore = async (): Promise<CacheProblem | null> => {
    await deps.checkConflict()
    const { kept, problem } = await channel.restore()
    if (revocation.restore()) active.apply({ kind: 'revoked' })
    if (kept === null) {
      if (problem !== null) active.apply({ kind: 'damaged' })
      return problem
    }
    const isTested = (await selfTests?.isKnown(kept.view)) === true
    // Without turns, because no decision is made before the agent has started.
    const prepared = runSteps(prepareBundle(preparing, kept, { source: 'cache', isTested }))
    if (prepared.kind === 'fault') {
      active.apply({ kind: 'damaged' })
      // A misread bundle is intact: a corrected agent, or another version, can enforce it.
      const isLeft = prepared.code === 'self_test_failed'
      return { file: isLeft ? null : await channel.setAside(), message: prepared.message }
    }
    active.apply({ kind: 'loaded', bundle: prepared.bundle })
    return problem
  }

  const bringIntoForce = async (
    offer: Offer,
    source: 'server' | 'file',
    signal: AbortSignal,
  ): Promise<Fault | null> => {
    const steps = prepareBundle(preparing, offer, { source, isTested: false })
    const prepared = await prepareInTurns(steps, signal, uptime)
    if (prepared.kind === 'fault') return prepared
    try {
      await offer.keep()
    } catch (error) {
      // A misread bundle in force must be replaced even while the disk is full.
      if (prepared.complaint?.code !== 'self_test_failed') return describeDiskFault(error)
    }
    if (prepared.complaint === null) await selfTests?.remember(offer.view)
    else await selfTests?.forget()
    const kind = source === 'server' ? 'verified' : 'imported'
    active.apply({ kind, bundle: prepared.bundle })
    if (source === 'server' && revocation.endBy(offer.view)) active.apply({ kind: 'readmitted' })
    return prepared.complaint
  }

  const awaited = (): AwaitedIssue | null =>
    findAwaitedIssue(active.current()?.bundle ?? null, channel.times())

  const attempt = async (signal: AbortSignal, isNewsExpected: boolean): Promise<Fault | null> => {
    await deps.checkConflict()
    // Only a signature renews freshness, so a stale machine requests the update itself, not a 304.
    const isConfirmed = active.state() === 'fresh'
    const issuedAfterMs = awaited()?.afterMs ?? null
    const condition = { isConfirmed, isNewsExpected, issuedAfterMs }
    const fetched = await channel.fetch(condition, signal)
    if (fetched.kind === 'offer') return bringIntoForce(fetched, 'server', signal)
    if (fetched.kind === 'fault') return fetched
    active.apply({ kind: 'unchanged' })
    return null
  }

  const run = async (signal: AbortSignal, isNewsExpected = false): Promise<SyncOutcome> => {
    const beganAt = new Date(clock()).toISOString()
    const before = active.revision()
    const found = await attempt(signal, isNewsExpected).catch(nameError)
    // An unsupported bundle is in force, and denies everything.
    if (found !== null && found.code !== 'unsupported_policy')
      active.apply(eventOfFault(found.code))
    if (found?.code === 'revoked') revocation.begin()
    await revocation.keep()
    const outcome = describeOutcome(before, active.revision(), found)
    const { error } = outcome
    record = recordAttempt(record, { beganAt, endedAt: new Date(clock()).toISOString(), error })
    return outcome
  }

  const take = async (body: readonly Uint8Array[], signal: AbortSignal): Promise<Fault | null> => {
    const opened = await channel.open(body, signal)
    return opened.kind === 'offer' ? bringIntoForce(opened, 'file', signal) : opened
  }

  const importFile = async (
    body: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<SyncOutcome> => {
    const before = active.revision()
    const found = await take(body, signal).catch(nameError)
    return describeOutcome(before, active.revision(), found)
  }

  const nameError = (error: unknown): Fault => {
    deps.onError?.(error)
    return internalFault(error)
  }

  return {
    restoreTime: () => channel.restoreTime(),
    restore: async () => (cacheProblem = await restore()),
    cacheProblem: () => cacheProblem,
    run,
    import: importFile,
    record: () => record,
    assignmentVersion: channel.assignmentVersion,
    awaited,
    keepTime: () => channel.keepTime(),
  }
}

async function prepareInTurns(
  steps: Steps<Prepared | Fault>,
  signal: AbortSignal,
  uptime: () => number,
): Promise<Prepared | Fault> {
  try {
    return await runInTurns(steps, signal, uptime)
  } catch (error) {
    if (!signal.aborted) throw error
    return fault('stopping', 'the agent is stopping')
  }
}

function describeOutcome(
  before: number | null,
  revision: number | null,
  found: Fault | null,
): SyncOutcome {
  const error = found === null ? null : { code: found.code, message: found.message }
  const good = revision === before ? 'unchanged' : 'updated'
  const outcome = error === null ? good : 'failed'
  return { outcome, revision, error, retryAfterMs: found?.retryAfterMs ?? null }
}
