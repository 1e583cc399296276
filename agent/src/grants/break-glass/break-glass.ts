import type { BreakGlassStatus, Enrolment } from '@palisade/protocol'
import type { Logger } from 'pino'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import type { TrustedClock } from '../../policy/state/trusted-clock.ts'
import type { StateStore } from '../../sync/state/state-store.ts'
import { isUsed, withBegun, withEnded } from '../../sync/trust/grant-ledger.ts'
import type { ViewChannel } from '../../sync/update/view-channel.ts'
import { grantFault, type GrantFault } from './grant-fault.ts'
import {
  describeGrant,
  duePaymentMs,
  putInForce,
  remainingMs,
  spentBy,
  type GrantInForce,
} from './grant-in-force.ts'
import { checkNeed, checkTime, readGrant, type SignedGrant } from './verify-grant.ts'

const REMIND_EVERY_MS = 10 * 60_000

export interface BreakGlassDeps {
  readonly active: Pick<
    ActivePolicy,
    'apply' | 'state' | 'mayBreakGlass' | 'lifetime' | 'endGrantWhen'
  >
  readonly channel: Pick<ViewChannel, 'root' | 'grants' | 'keepInBoth'>
  readonly store: Pick<StateStore, 'meter'>
  readonly enrolment: Pick<Enrolment, 'org' | 'device_id'>
  readonly clock: Pick<TrustedClock, 'now' | 'bounds'>
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  /** Runs a task that must not overlap a fetch. */
  readonly inTurn: <T>(run: () => Promise<T>) => Promise<T>
  readonly log: Pick<Logger, 'warn'>
}

/**
 * The grant of this machine: at most one at a time, and each only once. `state/agent-state.ts`
 * defines its effect.
 */
export interface BreakGlass {
  /** Call after the bundle is restored: resumes a grant that was begun before this start. */
  restore(): Promise<void>
  /**
   * Returns null once the grant is begun, durably. After a fault the state is unchanged. Must not
   * overlap a fetch.
   */
  begin(body: Uint8Array): Promise<GrantFault | null>
  /** Returns null once the grant has ended, durably. Must not overlap a fetch. */
  end(): Promise<GrantFault | null>
  /** Whether no grant is in force. An ended grant never resumes. */
  isOver(): boolean
  inForce(): BreakGlassStatus | null
  /** Milliseconds left; null while no grant is in force. */
  remainingMs(): number | null
  /**
   * Call twice a minute: pays for the time ahead, logs a reminder, and forgets an ended grant.
   * Resolves when the change is on disk or has failed; never rejects.
   */
  tick(): Promise<void>
  /** Refunds time that was paid for but has not passed. */
  stop(): Promise<void>
}

export function createBreakGlass(deps: BreakGlassDeps): BreakGlass {
  const { active, channel, store, clock, uptime, log } = deps
  let current: GrantInForce | null = null
  let paying: Promise<void> | null = null
  let settling: Promise<void> | null = null

  const leftOf = (inForce: GrantInForce): number => {
    // A root with other keys has ended it.
    if (channel.grants().current?.text !== inForce.grant.text) return 0
    return remainingMs(inForce, { nowMs: clock.now(), uptimeMs: uptime() })
  }
  const describe = (inForce: GrantInForce): BreakGlassStatus =>
    describeGrant(inForce, clock.now() + leftOf(inForce))
  const say = (inForce: GrantInForce, words: string): void =>
    log.warn({ grant: describe(inForce) }, `break-glass: ${words}`)

  const isOver = (): boolean => {
    if (current === null) return true
    if (leftOf(current) > 0) return false
    say(current, 'the grant is over')
    current = null
    return true
  }

  const pay = async (paidFor: SignedGrant, paidMs: number): Promise<void> => {
    const fault = await keepPayment(deps, paidFor, paidMs)
    if (fault !== null) log.warn({ fault }, `break-glass: ${fault.message}`)
    else if (current?.grant === paidFor) current = { ...current, paidMs }
  }

  const forget = (): Promise<void> => channel.keepInBoth({ grants: withEnded(channel.grants()) })

  /** Removes an ended grant from disk; otherwise a clock corrected later could revive it. */
  const settle = async (): Promise<void> => {
    const fault = await tryToKeep('the end cannot be written to disk', () => deps.inTurn(forget))
    if (fault !== null) log.warn({ fault }, `break-glass: ${fault.message}`)
    settling = null
  }

  active.endGrantWhen(isOver)
  return {
    isOver,
    inForce: () => (current === null || isOver() ? null : describe(current)),
    remainingMs: () => (current === null ? null : leftOf(current)),

    async restore() {
      const kept = await readKept(deps)
      if (kept === null) return
      if (kept === 'unusable') {
        log.warn({}, 'break-glass: the kept grant cannot be used; it is over')
        // Otherwise the next start finds it unusable again.
        await forget().catch(() => {})
        return
      }
      current = kept
      if (isOver()) return
      active.apply({ kind: 'grant_resumed' })
      say(kept, 'the grant continues')
    },

    async begin(body) {
      if (!isOver())
        return grantFault(
          'already_in_force',
          'a grant is in force; `palisade break-glass end` ends it',
        )
      const grant = checkBegin(deps, body)
      if (grant.kind === 'fault') return grant
      const begun = putInForce(grant, clock.now(), { spentMs: 0, uptimeMs: uptime() })
      const fault = await tryToKeep('the grant cannot be written to disk', async () => {
        await store.meter.write({ id: grant.signed.id, paid_ms: begun.paidMs })
        await channel.keepInBoth({ grants: withBegun(channel.grants(), grant, begun.begunMs) })
      })
      if (fault !== null) return fault
      current = begun
      active.apply({ kind: 'grant_accepted' })
      say(current, 'a grant is in force')
      return null
    },

    async end() {
      if (current === null || isOver()) return grantFault('none_in_force', 'no grant is in force')
      say(current, 'the grant was ended')
      current = null
      active.apply({ kind: 'grant_ended' })
      return tryToKeep('the grant has ended, but would resume after a restart', forget)
    },

    async tick() {
      if (current === null || isOver()) {
        if (channel.grants().current !== null) await (settling ??= settle())
        return
      }
      const due = duePaymentMs(current, uptime())
      if (due !== null) paying ??= pay(current.grant, due).finally(() => (paying = null))
      if (uptime() - current.remindedAtMs >= REMIND_EVERY_MS) {
        current = { ...current, remindedAtMs: uptime() }
        say(current, 'a grant is still in force')
      }
      await paying
    },

    async stop() {
      await paying
      if (current === null || isOver()) return
      await pay(current.grant, Math.ceil(spentBy(current, uptime())))
    },
  }
}

/** Returns the grant if it may begin on this machine now. */
function checkBegin(deps: BreakGlassDeps, body: Uint8Array): SignedGrant | GrantFault {
  const { active, channel, clock } = deps
  if (!active.mayBreakGlass())
    return grantFault('not_possible', `no grant can be begun in state \`${active.state()}\``)
  const root = channel.root()
  if (root === null) return grantFault('bad_signature', 'the kept roots are invalid')
  const grant = readGrant(body, { ...deps, root })
  if (grant.kind === 'fault') return grant
  if (isUsed(channel.grants(), grant.signed))
    return grantFault('already_used', 'the grant was used before; ask for another')
  const nowMs = clock.now()
  return (
    checkTime(grant.signed, { root, nowMs, bounds: clock.bounds() }) ??
    checkNeed(grant.signed, { lifetime: active.lifetime(), nowMs }) ??
    grant
  )
}

/** The grant that was begun before this start, with its remaining time; null without one. */
async function readKept(deps: BreakGlassDeps): Promise<GrantInForce | 'unusable' | null> {
  const { current: kept } = deps.channel.grants()
  const root = deps.channel.root()
  if (kept === null || root === null) return null
  const grant = readGrant(Buffer.from(kept.text), { ...deps, root })
  const meter = await deps.store.meter.read()
  // Without a valid meter the elapsed time is unknown, so the grant counts as used up.
  if (grant.kind === 'fault' || meter?.id !== grant.signed.id) return 'unusable'
  const times = { spentMs: meter.paid_ms, uptimeMs: deps.uptime() }
  const resumed = putInForce(grant, kept.begun_ms, times)
  // Pays before the grant counts: otherwise killing the agent before each `tick` makes it free.
  return (await keepPayment(deps, grant, resumed.paidMs)) === null ? resumed : 'unusable'
}

function keepPayment(
  { store }: Pick<BreakGlassDeps, 'store'>,
  { signed }: SignedGrant,
  paidMs: number,
): Promise<GrantFault | null> {
  const meter = { id: signed.id, paid_ms: paidMs }
  return tryToKeep('the used time cannot be written', () => store.meter.write(meter))
}

async function tryToKeep(words: string, keep: () => Promise<void>): Promise<GrantFault | null> {
  try {
    await keep()
    return null
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return grantFault('not_kept', `${words}: ${reason}`)
  }
}
