import type { Log } from '../operations/log/create-log.ts'
import type { Store } from '../store/store.ts'
import { createWriteBehind, type WriteBehind } from '../store/write-behind.ts'

/** When devices, by their ids, last polled; milliseconds since 1970. */
export type LastSeen = WriteBehind<number>

/** Records polls at the interval of the settings; an interval of 0 ms keeps no record. */
export function rememberLastSeen(deps: {
  readonly store: Store
  readonly intervalMs: number
  readonly log: Log
}): LastSeen {
  const { store, intervalMs, log } = deps
  if (intervalMs === 0) return UNSEEN
  const onFailure = (err: unknown): void =>
    log.warn({ err }, 'last polls of devices could not be written')
  return createLastSeen({ store, intervalMs, onFailure })
}

const UNSEEN: LastSeen = { record: () => undefined, close: async () => undefined }

/** Writes `intervalMs` after the first device was seen, and again after the next one. */
export function createLastSeen(deps: {
  readonly store: Pick<Store, 'transaction'>
  readonly intervalMs: number
  readonly onFailure: (error: unknown) => void
}): LastSeen {
  return createWriteBehind<number>({
    store: deps.store,
    intervalMs: deps.intervalMs,
    onFailure: deps.onFailure,
    async write(writer, seen) {
      for (const [deviceId, atMs] of seen)
        await writer.devicePolls.record(deviceId, new Date(atMs).toISOString())
    },
  })
}
