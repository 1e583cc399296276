import type { Enrolment, SyncResult } from '@palisade/protocol'
import { PolicyError } from '@palisade/policy-core'
import type { ActivePolicy } from '../decision/active-policy.ts'
import type { BundleCache } from './bundle-cache.ts'
import { fault, type Fault } from './fault.ts'
import type { FetchResult } from './fetch-bundle.ts'
import { NO_ATTEMPTS, recordAttempt, type SyncRecord } from './sync-record.ts'
import { verifyBundle, type Floor, type Verified } from './verify-bundle.ts'

export interface SynchronizerDeps {
  readonly active: ActivePolicy
  readonly cache: BundleCache
  readonly enrolment: Enrolment
  /** Epoch milliseconds. */
  readonly clock: () => number
  readonly fetchBundle: (etag: string | null, signal: AbortSignal) => Promise<FetchResult>
}

export interface SyncOutcome extends SyncResult {
  readonly retryAfterMs: number | null
}

export interface CacheProblem {
  readonly file: string
  readonly message: string
}

/** Brings bundles into force: at start from disk, later from the server. */
export interface Synchronizer {
  /** Puts the cached bundle into force, or sets an unusable one aside and says why. */
  restore(): Promise<CacheProblem | null>
  /** One attempt. Never rejects; any failure leaves in force what was in force. Not reentrant. */
  run(signal: AbortSignal): Promise<SyncOutcome>
  record(): SyncRecord
}

export function createSynchronizer(deps: SynchronizerDeps): Synchronizer {
  const { active, cache, clock } = deps
  let record = NO_ATTEMPTS
  /** Of the bundle in force, when this process fetched it. */
  let etag: string | null = null

  const verify = (jws: string, floor: Floor | null, acceptExpired: boolean): Promise<Verified> =>
    verifyBundle(jws, { enrolment: deps.enrolment, floor, nowMs: clock(), acceptExpired })

  const setAside = async (message: string): Promise<CacheProblem> => ({
    file: (await cache.setAside(clock())) ?? cache.file,
    message,
  })

  /** Compiles, so that nothing can fail any more once the returned function is called. */
  const prepare = (
    verified: Exclude<Verified, Fault>,
    source: 'cache' | 'server',
  ): (() => void) | Fault => {
    if (verified.kind === 'unsupported') return () => active.replace(verified)
    try {
      const next = active.compile(verified.bundle, source)
      return () => active.replace(next)
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error
      return fault('not_compilable', `the bundle does not compile: ${describePolicyError(error)}`)
    }
  }

  const restore = async (): Promise<CacheProblem | null> => {
    const entry = await cache.read()
    if (entry.kind === 'none') return null
    if (entry.kind === 'unreadable') return setAside(entry.message)
    const verified = await verify(entry.jws, null, true)
    if (verified.kind === 'fault') return setAside(verified.message)
    const swap = prepare(verified, 'cache')
    if (typeof swap !== 'function') return setAside(swap.message)
    swap()
    return null
  }

  const bringIntoForce = async (jws: string, newEtag: string | null): Promise<Fault | null> => {
    const verified = await verify(jws, active.floor(), false)
    if (verified.kind === 'fault') return verified
    const swap = prepare(verified, 'server')
    if (typeof swap !== 'function') return swap
    try {
      await cache.write(jws)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return fault('cache_not_written', `the bundle cannot be kept on disk: ${reason}`)
    }
    swap()
    etag = newEtag
    return verified.kind === 'unsupported' ? fault('unsupported_policy', verified.message) : null
  }

  const attempt = async (signal: AbortSignal): Promise<Fault | null> => {
    // Only a signature renews freshness: a stale bundle is asked for whole, not confirmed by a 304.
    const condition = active.state() === 'fresh' ? etag : null
    const fetched = await deps.fetchBundle(condition, signal)
    if (fetched.kind === 'fault') return fetched
    return fetched.kind === 'not_modified' ? null : bringIntoForce(fetched.jws, fetched.etag)
  }

  const run = async (signal: AbortSignal): Promise<SyncOutcome> => {
    const beganAt = new Date(clock()).toISOString()
    const before = active.floor()?.revision ?? null
    const found = await attempt(signal)
    const error = found === null ? null : { code: found.code, message: found.message }
    record = recordAttempt(record, { beganAt, endedAt: new Date(clock()).toISOString(), error })
    const revision = active.floor()?.revision ?? null
    const good = revision === before ? 'unchanged' : 'updated'
    const outcome = error === null ? good : 'failed'
    return { outcome, revision, error, retryAfterMs: found?.retryAfterMs ?? null }
  }

  return { restore, run, record: () => record }
}

function describePolicyError(error: PolicyError): string {
  const [problem] = error.problems
  if (problem === undefined) return error.message
  return `rule \`${problem.rule_id}\` of policy \`${problem.policy_id}\`: ${problem.member}: ${problem.message}`
}
