import { hash } from 'node:crypto'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author } from '../../history/author.ts'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import { nextTurn } from '../../platform/next-turn.ts'
import type { RolloutRecord, RolloutWatchRecord } from '../../store/distribution-records.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import type { CountDeps } from '../machines/count-machines.ts'
import { countStage } from './count-stage.ts'
import { nextRolloutStep } from './next-rollout-step.ts'
import { stepRollout, type RolloutStep } from './rollout-machine.ts'
import type { Log } from '../../operations/log/create-log.ts'

const INTERVAL_MS = 10_000
/** A multiple of the time of an evaluation. It bounds the share of time that large fleets take. */
const REST = 9

export interface RolloutWatchDeps {
  readonly store: Pick<Store, 'read' | 'transaction'>
  readonly audited: Pick<AuditedStore, 'write' | 'read'>
  readonly views: CountDeps['views']
  readonly now: () => Date
  /** Called with errors that keep it from evaluating, such as a store that does not answer. */
  readonly onError: (error: unknown) => void
}

/** Pauses rollouts and lets them go on, by the reports of machines. */
export interface RolloutWatch {
  /** Evaluates rollouts every few seconds from now on. */
  start(): void
  /** Evaluates each running rollout that no server has evaluated within the last seconds. */
  evaluateDue(): Promise<void>
  /** Begins no further round, and resolves when the current one has ended. */
  stop(): Promise<void>
}

export function createRolloutWatch(deps: RolloutWatchDeps): RolloutWatch {
  const { store, onError } = deps
  let isStopping = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null

  async function evaluateDue(): Promise<void> {
    const rollouts = await store.read((reader) => reader.rollouts.listRunning())
    for (const rollout of rollouts)
      if (!isStopping) await evaluateRollout(deps, rollout).catch(onError)
  }

  function wait(ms: number): void {
    if (!isStopping) timer = setTimeout(look, ms).unref()
  }

  function look(): void {
    const startedMs = performance.now()
    running = evaluateDue()
      .catch(onError)
      .finally(() => wait(Math.max(INTERVAL_MS, REST * (performance.now() - startedMs))))
  }

  return {
    start: () => wait(INTERVAL_MS),
    evaluateDue,
    async stop() {
      isStopping = true
      clearTimeout(timer)
      await running
    },
  }
}

async function evaluateRollout(deps: RolloutWatchDeps, rollout: RolloutRecord): Promise<void> {
  const watch = await claim(deps, rollout)
  if (watch === null) return
  const author = authorOf(rollout)
  const { audited, views, now } = deps
  const { machines } = await countStage({ store: audited, views, now }, rollout, nextTurn)
  const step = nextRolloutStep(rollout, {
    machines,
    actor: author.actor,
    settledMs: Date.parse(watch.policies_since),
    nowMs: now().getTime(),
  })
  if (step === null) return
  await audited.write(author, async (writer) => {
    const current = await writer.rollouts.find(rollout.org, rollout.id)
    // A concurrent change by a user wins.
    if (current === null || !isSame(current, rollout)) return
    // There are no reports yet about a change made just now.
    if (goesOn(step) && (await hashPolicies(writer, rollout.org)) !== watch.policies_hash) return
    const stepped = stepRollout(current, step, now().toISOString())
    if (stepped.ok) await writer.rollouts.update({ ...current, ...stepped.rollout })
  })
}

/** Null when another server evaluates it. */
function claim(
  { store, now }: RolloutWatchDeps,
  { id, org }: RolloutRecord,
): Promise<RolloutWatchRecord | null> {
  return store.transaction(async (writer) => {
    const before = await writer.rollouts.watch(id)
    const nowMs = now().getTime()
    const passedMs = before === null ? INTERVAL_MS : nowMs - Date.parse(before.evaluated_at)
    // A time to come is that of a clock that was ahead.
    if (passedMs >= 0 && passedMs < INTERVAL_MS / 2) return null
    const at = new Date(nowMs).toISOString()
    const policies_hash = await hashPolicies(writer, org)
    const policies_since = before?.policies_hash === policies_hash ? before.policies_since : at
    const watch = { evaluated_at: at, policies_hash, policies_since }
    await writer.rollouts.putWatch(id, watch)
    return watch
  })
}

/** Every change of a policy gives it another revision; teams and settings change it not. */
async function hashPolicies(reader: StoreReader, org: string): Promise<string> {
  const page = { afterId: '', limit: Number.MAX_SAFE_INTEGER }
  const heads = await reader.policies.list(org, page)
  return hash('sha256', JSON.stringify(heads.map(({ id, revision }) => [id, revision])))
}

function isSame(one: RolloutRecord, other: RolloutRecord): boolean {
  return formatCanonicalJson(one) === formatCanonicalJson(other)
}

function goesOn({ kind }: RolloutStep): boolean {
  return kind === 'advance' || kind === 'finish'
}

function authorOf({ org, id }: RolloutRecord): Author {
  return { actor: `rollout:${org}:${id}`, address: null, request_id: null }
}

/** The watch of a server; it logs the errors that keep it from evaluating. */
export function openRolloutWatch(
  deps: Omit<RolloutWatchDeps, 'onError'> & { readonly log: Log },
): RolloutWatch {
  const { store, audited, views, now, log } = deps
  const onError = (err: unknown): void => log.error({ err }, 'rollouts cannot be evaluated')
  return createRolloutWatch({ store, audited, views, now, onError })
}
