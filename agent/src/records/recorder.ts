import { backOffMs } from '@palisade/client'
import type { AgentStatus, LossReason, RecordedProgram } from '@palisade/protocol'
import { systemErrorCode } from '../host/errors.ts'
import type { ProgramLookup } from '../host/process-lookup/program-lookup.ts'
import type { ClientEndpoint } from '../host/process-lookup/client-endpoint.ts'
import { createLossCounter } from './loss-counter.ts'
import { createMinuteWindow, type RecordDraft } from './minute-window.ts'
import type { ChainedLine, Loss } from './record-chain.ts'
import type { RecordWriter } from './record-writer.ts'
import { stampEvent, type RecordedEvent, type StampedEvent } from './recorded-event.ts'

export interface RecorderLimits {
  /** Equal events within this time become one record. */
  readonly windowMs: number
  /** Pause before a write, which collects the events of that time. */
  readonly tickMs: number
  /** Different events that may wait for a write, and that one minute may have. */
  readonly maxTuples: number
}

export type OnLines = (lines: readonly ChainedLine[]) => void

/** Records the decisions of this machine. */
export interface Recorder {
  /** Returns at once and never throws. */
  record(event: RecordedEvent): void
  /** Call for each new connection of a program, so that its program is searched early. */
  notice(client: ClientEndpoint): void
  /**
   * Writes the events so far, except allowed repetitions in the present minute, whose sum is not
   * known yet. Resolves at once while the disk refuses records.
   */
  flush(): Promise<void>
  /** Calls the listener with lines that are on disk; returns a function that ends it. */
  subscribe(listener: OnLines): () => void
  status(): NonNullable<AgentStatus['records']>
  /** Writes the remaining records, if the disk takes them; later events are lost. */
  stop(): Promise<void>
}

export interface RecorderDeps {
  readonly writer: RecordWriter
  readonly programs: ProgramLookup
  readonly limits: RecorderLimits
  /** Epoch milliseconds. */
  readonly now: () => number
  /** 0 to 1, exclusive. */
  readonly random: () => number
  /** Called once for a series of failed writes. */
  readonly onFailure: (error: unknown) => void
}

/** Lines of one write, so that others get their turn in between. */
const MAX_LINES = 128
const RETRY = { firstMs: 1_000, capMs: 60_000 } as const

export function createRecorder(deps: RecorderDeps): Recorder {
  const { writer, programs, limits, now } = deps
  const window = createMinuteWindow(limits)
  const losses = createLossCounter(limits)
  const wake = createWake(() => void write())
  const listeners = new Set<OnLines>()
  let ready: readonly RecordDraft[] = []
  let writing: Promise<void> | null = null
  let failures = 0
  let written = 0
  let error: string | null = null
  let isStopped = false

  const lose = (lost: number, reason: LossReason): void => losses.add(lost, reason, now())

  const file = (event: StampedEvent, program: RecordedProgram | null): void => {
    const hasRoom = !isStopped && ready.length < limits.maxTuples
    if (hasRoom && window.add(event, program, now())) schedule()
    else lose(1, failures > 0 ? 'write_failed' : 'queue_full')
  }

  const schedule = (): void => {
    if (writing !== null || isStopped || failures > 0) return
    const dueMs =
      ready.length > 0 ? 0 : Math.min(window.dueMs() ?? Infinity, losses.dueMs() ?? Infinity)
    if (dueMs === Infinity) return
    // At most a minute, even if the clock was set back.
    const leftMs = Math.min(dueMs - now(), limits.windowMs)
    if (leftMs <= 0) wake.soon(limits.tickMs)
    else wake.later(leftMs + limits.tickMs)
  }

  const write = (take: 'due' | 'all' = 'due'): Promise<void> => {
    wake.cancel()
    writing ??= writeAll(take).finally(() => {
      writing = null
      if (failures > 0 && !isStopped)
        wake.soon(backOffMs(failures - 1, { ...RETRY, random: deps.random }) + limits.tickMs)
      else schedule()
    })
    return writing
  }

  const writeAll = async (take: 'due' | 'all'): Promise<void> => {
    ready = ready.concat(window.take(take === 'all' ? take : now()))
    for (;;) {
      const lost = losses.take(take === 'all' ? take : now())
      if (ready.length === 0 && lost.length === 0) return
      if (!(await writeSome(lost))) return
    }
  }

  /** Returns whether the disk took them. */
  const writeSome = async (lost: readonly Loss[]): Promise<boolean> => {
    const drafts = ready.slice(0, MAX_LINES)
    const result = await writer.write([...lost, ...drafts])
    if (!result.ok) {
      losses.putBack(lost)
      if (failures === 0) deps.onFailure(result.error)
      failures += 1
      error = systemErrorCode(result.error) ?? 'UNKNOWN'
      // Without a code it is a bug, which the same records would cause again.
      if (!result.isLost && systemErrorCode(result.error) !== null) return false
      ready = ready.slice(drafts.length)
      lose(sumOf(drafts), 'write_failed')
      return false
    }
    failures = 0
    error = null
    ready = ready.slice(drafts.length)
    written += sumOf(drafts)
    for (const listener of listeners) listener(result.lines)
    return true
  }

  return {
    record(event) {
      const stamped = stampEvent(event, now())
      if (event.client === null) file(stamped, null)
      else programs.find(event.client, (program) => file(stamped, program))
    },

    notice: programs.notice,

    async flush() {
      await programs.settled()
      await writing
      if (failures > 0) return
      ready = ready.concat(window.takeDenials())
      await write()
    },

    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },

    status: () => ({ written, ...losses.sum(), bytes: writer.bytes(), error }),

    async stop() {
      programs.settle()
      await writing
      await write('all')
      isStopped = true
      wake.cancel()
      lose(sumOf(ready), 'write_failed')
      ready = []
      await writer.close()
    },
  }
}

function sumOf(drafts: readonly RecordDraft[]): number {
  return drafts.reduce((sum, { count }) => sum + count, 0)
}

/** One timer, so that an agent without decisions does not wake. */
interface Wake {
  /** Replaces a later time, but not another call of `soon`. */
  soon(ms: number): void
  /** Keeps a present time. */
  later(ms: number): void
  cancel(): void
}

function createWake(run: () => void): Wake {
  let timer: NodeJS.Timeout | null = null
  let isSoon = false
  const cancel = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    isSoon = false
  }
  const start = (ms: number): void => {
    timer = setTimeout(() => {
      cancel()
      run()
    }, ms).unref()
  }
  return {
    soon(ms) {
      if (isSoon) return
      cancel()
      isSoon = true
      start(ms)
    },
    later(ms) {
      if (timer === null) start(ms)
    },
    cancel,
  }
}
