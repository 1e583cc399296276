import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '../log/create-log.ts'
import type { Store } from '../store/store.ts'

/** Rows of one transaction: measured, 250 hold the event loop for some 3 ms. */
const SLICE = 250

/**
 * When devices last polled: kept in memory, and written together some time later. A process that
 * is killed loses what it had not written.
 */
export interface LastSeen {
  record(deviceId: string, atMs: number): void
  /** Writes what is left; nothing may be recorded any more. */
  close(): Promise<void>
}

/** As the settings say: with an interval of 0 ms nothing is remembered. */
export function rememberLastSeen(deps: {
  readonly store: Store
  readonly intervalMs: number
  readonly log: Log
}): LastSeen {
  const { log, ...rest } = deps
  if (deps.intervalMs === 0) return UNSEEN
  const onFailure = (err: unknown): void =>
    log.warn({ err }, 'last polls of devices could not be written')
  return createLastSeen({ ...rest, onFailure })
}

const UNSEEN: LastSeen = { record: () => undefined, close: async () => undefined }

/** Writes `intervalMs` after the first device was seen, and again after the next one. */
export function createLastSeen(deps: {
  readonly store: Pick<Store, 'transaction'>
  readonly intervalMs: number
  /** What could not be written is tried again in the next interval. */
  readonly onFailure: (error: unknown) => void
}): LastSeen {
  const seenMs = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()

  function flush(): void {
    timer = null
    writing = writing.then(writeAll).catch((error: unknown) => {
      deps.onFailure(error)
      schedule()
    })
  }

  function schedule(): void {
    timer ??= setTimeout(flush, deps.intervalMs).unref()
  }

  /** What is there at the start; who polls meanwhile is for the next time. */
  async function writeAll(): Promise<void> {
    for (let left = seenMs.size; left > 0; left -= SLICE) {
      await write(takeSlice(seenMs))
      await nextTurn()
    }
  }

  async function write(slice: readonly (readonly [string, number])[]): Promise<void> {
    try {
      await deps.store.transaction(async (writer) => {
        for (const [deviceId, ms] of slice)
          await writer.devicePolls.record(deviceId, new Date(ms).toISOString())
      })
    } catch (error) {
      for (const [deviceId, ms] of slice) if (!seenMs.has(deviceId)) seenMs.set(deviceId, ms)
      throw error
    }
  }

  return {
    record(deviceId, atMs) {
      seenMs.set(deviceId, atMs)
      if (timer === null) schedule()
    },
    async close() {
      if (timer !== null) clearTimeout(timer)
      await writing
      // A failure has set it again.
      if (timer !== null) clearTimeout(timer)
      await writeAll().catch(deps.onFailure)
    },
  }
}

function takeSlice(seenMs: Map<string, number>): (readonly [string, number])[] {
  const slice: [string, number][] = []
  for (const entry of seenMs) {
    slice.push(entry)
    seenMs.delete(entry[0])
    if (slice.length >= SLICE) break
  }
  return slice
}
