import type { AuditEvent } from '@palisade/protocol'
import type { Log } from '../../operations/log/create-log.ts'
import { createBackgroundTask, type BackgroundTask } from '../../platform/background-task.ts'
import { nextTurn } from '../../platform/next-turn.ts'
import type { ExportStore, StoredEvidence } from '../store/evidence-store.ts'
import type { Receipt, Receiver } from './receiver.ts'

/** How soon new records are seen. */
const INTERVAL_MS = 1_000
/** Records that are read at once, unless one batch has more, and that are sent at once. */
const MOST_TAKEN = 2_000
const MOST_SENT = 500
/**
 * Characters that are sent at once, of the texts that a machine chooses; unless one record has
 * more. A receiver that takes usual records in time must not fail at those of one machine.
 */
const MOST_SENT_LENGTH = 500_000
/** Longer than one call of a receiver, which a lease must outlive. */
const LEASE_MS = 60_000
const OTHERS_EVERY_MS = 15_000
const COUNTED_EVERY_MS = 15_000
/** A count of millions of records has at most this part of the time. */
const LEAST_TIMES_COUNTING = 20
const REFUSED_EVERY_MS = 60_000
const LEAST_WAIT_MS = 1_000
const MOST_WAIT_MS = 5 * 60_000

/** Counts of an exporter since the start of this server, for metrics. */
export interface ExportCounts {
  exported: number
  /** Records that the receiver will never take. */
  rejected: number
  failures: number
  /** Records that waited when they were last counted. */
  pending: number
  /** Epoch milliseconds of the oldest one; null without any. */
  oldestMs: number | null
}

export interface ExporterDeps {
  readonly name: string
  readonly receiver: Receiver
  readonly evidence: Pick<
    ExportStore,
    'addExporter' | 'countUnexported' | 'exported' | 'lease' | 'unexported'
  >
  readonly describe: (rows: readonly StoredEvidence[]) => Promise<AuditEvent[]>
  /** Names this server among those of one database. */
  readonly holder: string
  readonly now: () => Date
  readonly monotonicMs: () => number
  readonly random: () => number
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly intervalMs?: number
}

export interface Exporter extends BackgroundTask {
  readonly name: string
  readonly counts: Readonly<ExportCounts>
}

/**
 * Sends the records that are stored to a receiver, each at least once: they are marked after the
 * receiver has them, and those of an earlier end or failure are sent again. The batches of one
 * device keep their order, unless the receiver fails between.
 */
export function createExporter(deps: ExporterDeps): Exporter {
  const { name, receiver, evidence, describe, holder, log, now, monotonicMs, random } = deps
  const counts = noCounts()
  let notBeforeMs = 0
  let hasLease = false
  const count = createCount(deps, counts)
  let refusedAtMs = Number.NEGATIVE_INFINITY
  let waitMs = LEAST_WAIT_MS
  /** Halved for what the receiver refuses, until one record alone is refused. */
  let mostSent = MOST_SENT
  /**
   * Records of the present parts that are done with. A receiver that takes few calls in a while
   * would otherwise get the first ones again each time, and never the last.
   */
  const done = new Set<string>()

  async function run(isStopping: () => boolean): Promise<void> {
    await count()
    while (!isStopping() && monotonicMs() >= notBeforeMs) {
      const { ids, rows } = await evidence.unexported(name, MOST_TAKEN)
      if (ids.length === 0) return
      const events = await describeInTurns(describe, rows)
      // The parts may be others than before, when another server has exported some.
      const present = new Set(events.map(keyOf))
      for (const key of done) if (!present.has(key)) done.delete(key)
      if (!(await sendAll(events.filter((event) => !done.has(keyOf(event)))))) return
      await evidence.exported(ids)
      done.clear()
      await count()
      await nextTurn()
    }
  }

  /** Returns whether the receiver has them all, or will never take them. */
  async function sendAll(events: readonly AuditEvent[]): Promise<boolean> {
    let rest = events
    while (rest.length > 0) {
      hasLease = await evidence.lease(name, holder, now().getTime(), LEASE_MS)
      if (!hasLease) {
        notBeforeMs = monotonicMs() + OTHERS_EVERY_MS
        return false
      }
      const call = firstCall(rest, mostSent)
      const receipt = await receiver.send(call)
      if (receipt.kind === 'failed') {
        backOff(receipt)
        // Those of the calls before may have been on their way.
        if (!receiver.acknowledges) done.clear()
        return false
      }
      if (receipt.kind === 'refused' && call.length > 1) {
        mostSent = Math.ceil(call.length / 2)
        continue
      }
      finish(call, receipt)
      rest = rest.slice(call.length)
    }
    return true
  }

  function finish(
    call: readonly AuditEvent[],
    receipt: Exclude<Receipt, { readonly kind: 'failed' }>,
  ): void {
    const refused = receipt.kind === 'taken' ? Math.min(receipt.refused, call.length) : call.length
    counts.exported += call.length - refused
    counts.rejected += refused
    if (receipt.kind === 'refused') noteRefusal(call[0]?.audit_event_id, receipt.why)
    for (const event of call) done.add(keyOf(event))
    mostSent = Math.min(mostSent * 2, MOST_SENT)
    waitMs = LEAST_WAIT_MS
  }

  /** Once a minute: a receiver may refuse all of them. */
  function noteRefusal(id: string | undefined, why: string): void {
    if (monotonicMs() - refusedAtMs < REFUSED_EVERY_MS) return
    refusedAtMs = monotonicMs()
    const { rejected } = counts
    log.warn({ exporter: name, id, why, rejected }, 'a receiver refuses decision records')
  }

  function backOff({ why, retryAfterMs }: Extract<Receipt, { kind: 'failed' }>): void {
    counts.failures += 1
    // Half of it by chance, so that servers that failed together do not come back together.
    const pauseMs = waitMs * (0.5 + random() / 2)
    // `Retry-After` may be zero or in the past, each time.
    const ms = Math.max(retryAfterMs ?? 0, pauseMs)
    notBeforeMs = monotonicMs() + ms
    waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)
    log.warn(
      { exporter: name, why, wait_ms: Math.round(ms) },
      'decision records wait for their export',
    )
  }

  const task = createBackgroundTask({
    intervalMs: deps.intervalMs ?? INTERVAL_MS,
    run,
    onError(err) {
      log.warn({ err, exporter: name }, 'decision records cannot be read for their export')
      notBeforeMs = monotonicMs() + LEAST_WAIT_MS
    },
  })
  return {
    name,
    counts,
    start: () => task.start(),
    async stop() {
      receiver.close()
      await task.stop()
      // Another server, or this one after its start, can then go on at once.
      if (hasLease) await evidence.lease(name, holder, now().getTime(), -1).catch(() => {})
    },
  }
}

function noCounts(): ExportCounts {
  return { exported: 0, rejected: 0, failures: 0, pending: 0, oldestMs: null }
}

/** Counts what waits, at times, and joins the exporters again after another server ended this. */
function createCount(
  { name, evidence, monotonicMs, log }: ExporterDeps,
  counts: ExportCounts,
): () => Promise<void> {
  let againMs = Number.NEGATIVE_INFINITY

  /** A server that was started without this exporter has ended it for all. */
  async function join(): Promise<void> {
    await evidence.addExporter(name)
    log.warn(
      { exporter: name },
      'another server ended this export: give all servers of one database the same settings',
    )
  }

  return async () => {
    const begunMs = monotonicMs()
    if (begunMs < againMs) return
    const { records, oldest_ms, is_known } = await evidence.countUnexported(name)
    if (!is_known) await join()
    counts.pending = records
    counts.oldestMs = oldest_ms
    const tookMs = monotonicMs() - begunMs
    againMs = begunMs + Math.max(COUNTED_EVERY_MS, tookMs * LEAST_TIMES_COUNTING)
  }
}

async function describeInTurns(
  describe: ExporterDeps['describe'],
  rows: readonly StoredEvidence[],
): Promise<AuditEvent[]> {
  const events: AuditEvent[] = []
  for (let first = 0; first < rows.length; first += MOST_SENT) {
    events.push(...(await describe(rows.slice(first, first + MOST_SENT))))
    await nextTurn()
  }
  return events
}

/** Returns as many of the first events as one call may have. */
function firstCall(events: readonly AuditEvent[], most: number): readonly AuditEvent[] {
  let length = 0
  const end = events.findIndex((event, index) => {
    length += lengthOf(event)
    return index === most || (index > 0 && length > MOST_SENT_LENGTH)
  })
  return end === -1 ? events : events.slice(0, end)
}

function keyOf({ org_id, audit_event_id }: AuditEvent): string {
  return `${org_id} ${audit_event_id}`
}

function lengthOf({ payload, agent, rules, shadow }: AuditEvent): number {
  return [...rules, ...(shadow?.rules ?? [])].reduce(
    (sum, { policy_id, rule_id }) => sum + policy_id.length + rule_id.length,
    payload.resource_id.length + (agent ?? '').length,
  )
}
