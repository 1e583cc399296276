import { MAX_SPREAD_SECONDS, type Hint } from '@palisade/protocol'
import { nextTurn } from '../../platform/next-turn.ts'
import type { Store } from '../../store/store.ts'
import type { Proof } from '../../identity/device/verify-proof.ts'
import { createAssignmentNews } from './assignment-news.ts'
import { countHintCallers } from './hint-callers.ts'
import { createWaitingRoom, type WaiterKey } from './waiting-room.ts'
import { watchRevisions, type Changes } from './watch-revisions.ts'

/** The interval at which disconnected and expired waiters are removed. */
const SWEEP_MS = 250
/**
 * So many machines one process is asked to serve, each with one request for an update; reports and
 * the next hints come later. With more of them at once it would be overloaded, and ask machines to
 * wait for longer than the spread: an update takes half a millisecond of the processor, or a whole
 * one on a slow machine.
 */
const MACHINES_PER_SECOND = 800
/** Answered in one turn. */
const AT_ONCE = 64

/** A machine that asks to be told. */
export interface Asking extends WaiterKey {
  /** The revision that the machine knows; null without one. */
  readonly since: number | null
  /** The user of the device; null without one. */
  readonly user: string | null
  /** The version of the assignment that the machine has; null when it asks for none. */
  readonly assignment: number | null
  readonly proof: Pick<Proof, 'jti' | 'issuedMs'>
  /** Milliseconds until its token ends. */
  readonly leftMs: number
  /** Whether the connection of the waiter is closed. */
  readonly isGone: () => boolean
  /**
   * The newest assignment of the machine. Rejects when the machine may not be told any more. Asked
   * before every answer that it waited for.
   */
  readonly confirm: () => Promise<{ readonly assignmentVersion: number }>
}

/**
 * Machines that wait to hear that their organization has another revision, or that they have a
 * later assignment.
 */
export interface Hints {
  /**
   * Answers once the revision is not `since` or the assignment is later, or with `since` after the
   * longest wait. A later call for a machine ends the former; one whose proof is no newer than the
   * former's is `replayed`. `full` when too many wait, or the server stops. Rejects as `confirm`
   * does.
   */
  wait(asking: Asking): Promise<HintOutcome>
  /** Something was committed here. Returns at once. */
  changed(): void
  waiting(): number
  /** Answers all waiters, and every later one at once. */
  close(): void
}

export type HintOutcome = Hint | 'full' | 'replayed'

export interface HintLimits {
  readonly longestMs: number
  readonly waiting: number
  readonly waitingOfOrg: number
}

interface Waiter extends Asking {
  readonly endsAtMs: number
  readonly resolve: (outcome: HintOutcome) => void
  readonly reject: (error: unknown) => void
}

/** `settleMs` as in `watchRevisions`. */
export function createHints(deps: {
  readonly store: Pick<Store, 'read' | 'generation'>
  readonly limits: HintLimits
  readonly settleMs: number
}): Hints {
  const { store, limits, settleMs } = deps
  const uptime = (): number => performance.now()
  const callers = countHintCallers(uptime, limits.waitingOfOrg)
  const room = createWaitingRoom<Waiter>()
  const watch = watchRevisions({
    store,
    settleMs,
    isWanted: () => room.size() > 0,
    onRead: tellAll,
  })
  const news = createAssignmentNews(room, (org) => watch.current()?.get(org) ?? null)
  let isClosed = false
  let sweeper: NodeJS.Timeout | undefined

  const describe = (org: string, revision: number): Hint => ({
    revision,
    spread_seconds: spreadOf(callers.count(org)),
  })

  async function tellAll({ revisions, holders }: Changes): Promise<void> {
    for (const [org, waiters] of room.orgs()) {
      const revision = revisions.get(org)
      if (revision === undefined) continue
      const due = [...waiters].filter(({ since }) => since !== revision)
      const hint = describe(org, revision)
      for (let first = 0; first < due.length; first += AT_ONCE) {
        const some = due.slice(first, first + AT_ONCE)
        await Promise.all(some.map((waiter) => answer(waiter, hint)))
        await nextTurn()
      }
    }
    await news.tellHolders(holders)
  }

  async function answer(waiter: Waiter, hint: Hint): Promise<void> {
    if (!room.leave(waiter)) return
    try {
      await waiter.confirm()
      waiter.resolve(hint)
    } catch (error) {
      waiter.reject(error)
    }
  }

  /** Answers with the known revision; a waiter without one is sent away. */
  function endUnchanged(waiter: Waiter, spread_seconds = 0): void {
    if (waiter.since !== null) void answer(waiter, { revision: waiter.since, spread_seconds })
    else if (room.leave(waiter)) waiter.resolve('full')
  }

  function sweep(): void {
    const nowMs = uptime()
    for (const waiter of room.all())
      if (waiter.isGone() || nowMs >= waiter.endsAtMs) endUnchanged(waiter)
    if (room.size() > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  function hasRoom(org: string): boolean {
    return room.size() < limits.waiting && room.sizeOf(org) < limits.waitingOfOrg
  }

  function enter(asking: Asking): Promise<HintOutcome> {
    return new Promise((resolve, reject) => {
      const endsAtMs = uptime() + Math.min(limits.longestMs, asking.leftMs)
      const waiter = { ...asking, endsAtMs, resolve, reject }
      room.enter(waiter)
      // One that changed before it entered is told by nothing else.
      if (asking.assignment !== null) void news.tell(waiter)
      sweeper ??= setInterval(sweep, SWEEP_MS).unref()
      watch.wake()
    })
  }

  return {
    async wait(asking) {
      const { org, deviceId, since, proof } = asking
      const former = room.find(asking)
      if (former !== undefined) {
        if (!isNewer(proof, former.proof)) return 'replayed'
        endUnchanged(former)
      }
      callers.note(org, deviceId)
      const revision = watch.current()?.get(org)
      if (revision !== undefined && revision !== since) return describe(org, revision)
      if (isClosed)
        return since === null ? 'full' : { revision: since, spread_seconds: spreadOf(room.size()) }
      if (!hasRoom(org)) sweep()
      return hasRoom(org) ? enter(asking) : 'full'
    },

    changed: () => watch.wake(),
    waiting: () => room.size(),

    close() {
      isClosed = true
      watch.close()
      // Spread out, because all of them look for another server now.
      const spread = spreadOf(room.size())
      for (const waiter of room.all()) endUnchanged(waiter, spread)
    },
  }
}

/** Seconds. */
function spreadOf(machines: number): number {
  return Math.min(machines / MACHINES_PER_SECOND, MAX_SPREAD_SECONDS)
}

/** A replayed request has an older number, and must not take the place of the machine itself. */
function isNewer(proof: Asking['proof'], former: Asking['proof']): boolean {
  return proof.issuedMs >= former.issuedMs && proof.jti !== former.jti
}
