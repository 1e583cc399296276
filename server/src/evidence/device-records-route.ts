import { deviceRecordsSchema, type DeviceRecords } from '@palisade/protocol'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { notFound } from '../platform/api-error.ts'
import { MAX_AHEAD_MS } from './store/evidence-record.ts'
import type { EvidenceStore } from './store/evidence-store.ts'

const RECENT_MS = 30 * 24 * 60 * 60_000

export interface DeviceRecordsDeps {
  readonly evidence: Pick<EvidenceStore, 'chain' | 'losses'>
  readonly now: () => Date
}

/** `GET /api/v1/orgs/:org/devices/:device/records` */
export function deviceRecordsRoute({ evidence, now }: DeviceRecordsDeps): Route {
  return defineRoute(
    {
      method: 'GET',
      path: '/api/v1/orgs/:org/devices/:device/records',
      operationId: 'getDeviceRecords',
      tags: ['audit'],
      summary: 'Show how far the decision records of a device are stored, and which are missing',
      permission: 'audit:read',
      async lookUp(reader, { org, device }) {
        if ((await reader.devices.find(org, device)) === null) throw notFound('device not found')
      },
      answers: { 200: deviceRecordsSchema },
    },
    async ({ params: { org, device } }): Promise<DeviceRecords> => {
      const chain = await evidence.chain(device)
      if (chain === null) return NOTHING
      const nowMs = now().getTime()
      const time = { fromMs: nowMs - RECENT_MS, toMs: nowMs + MAX_AHEAD_MS }
      const losses = await evidence.losses(org, device, time)
      const { position, gaps, forks, rewinds, marked_ms, lost, left_out, received_ms } = chain
      return {
        position,
        received_at: formatInstant(received_ms),
        gaps,
        forks,
        rewinds,
        marked_at: marked_ms === null ? null : formatInstant(marked_ms),
        lost,
        left_out,
        recent_losses: losses.map((each) => ({
          reason: each.reason,
          lost: each.lost,
          last_at: formatInstant(each.at_ms),
        })),
      }
    },
  )
}

/** The answer for a device without an upload. */
const NOTHING: DeviceRecords = {
  position: null,
  received_at: null,
  gaps: 0,
  forks: 0,
  rewinds: 0,
  marked_at: null,
  lost: 0,
  left_out: 0,
  recent_losses: [],
}

function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}
