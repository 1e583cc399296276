import type { EnforcementReport } from '@palisade/protocol'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { SERVER } from '../../history/author.ts'
import { createRateLimiter } from '../../identity/limits/rate-limiter.ts'
import { createLruCache } from '../../platform/lru-cache.ts'

type ProbeState = EnforcementReport['proxy']

/** A machine whose probe fails now and then would fill the history. */
const NOTED_EVERY_MS = 60 * 60_000
/** Devices whose last event is remembered; those with an event only. */
const MOST_DEVICES = 100_000

/** Leaves an event where the self-probe of a device turns, before its report is recorded. */
export type NoteProbe = (
  device: { readonly deviceId: string; readonly org: string },
  enforcement: EnforcementReport | undefined,
) => Promise<void>

/**
 * An event of each kind once an hour for a device. A turn within that hour is left to a later
 * report, because otherwise the last event could say the opposite of the last report. A report is
 * at most repeated, after the end of the process: the event comes first.
 */
export function createNoteProbe({
  store,
  monotonicMs,
}: {
  readonly store: Pick<AuditedStore, 'note' | 'read'>
  readonly monotonicMs: () => number
}): NoteProbe {
  const noted = createRateLimiter({ most: 1, windowMs: NOTED_EVERY_MS }, monotonicMs)
  const told = createLruCache<ProbeState>(MOST_DEVICES, () => 1)

  return async ({ deviceId, org }, enforcement) => {
    if (enforcement === undefined) return
    const { proxy } = enforcement
    const { before, name } = await store.read(async (reader) => ({
      before:
        told.find(deviceId) ??
        (await reader.deviceReports.list([deviceId])).get(deviceId)?.proxy_enforcement ??
        // A device without a probe so far has not failed.
        'in_force',
      name: (await reader.devices.findById(deviceId))?.name ?? null,
    }))
    if (before === proxy) return
    const kind = proxy === 'failed' ? 'device.probe_failed' : 'device.probe_passed'
    const key = `${deviceId} ${kind}`
    told.keep(deviceId, before)
    if (noted.waitSeconds(key) > 0) return
    await store.note(SERVER, {
      scope: { org },
      kind,
      subject: { id: deviceId, name },
      before: { probe: 'proxy', result: before },
      after: { probe: 'proxy', result: proxy },
    })
    noted.add(key)
    told.keep(deviceId, proxy)
  }
}
