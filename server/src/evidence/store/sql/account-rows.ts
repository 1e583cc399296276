import type { Connection } from '../../../store/sql/connection.ts'
import { SHARE_OF_USER, type EvidenceLimits, type ExceededLimit } from '../evidence-limits.ts'
import type { EvidenceBatch } from '../evidence-store.ts'
import { dayOf } from './day.ts'

/** Bytes that a batch is about to add. */
export interface BatchBytes {
  readonly org: number
  readonly batch: EvidenceBatch
  readonly bytes: number
}

/**
 * The bytes that an organization has stored, by user, device and day of arrival. Their sum is a
 * column of the organization, which each batch moves. A removed day takes its bytes along.
 */
export interface Account {
  /** The first limit that the batch would exceed; takes no lock. */
  exceeded(adding: BatchBytes, limits: EvidenceLimits): Promise<ExceededLimit | null>
  /** Books the bytes of the device. */
  book(adding: BatchBytes): Promise<void>
}

export function createAccount(connection: Connection): Account {
  const ofOrganization = connection.prepare<{ readonly bytes: number }>(
    'SELECT bytes FROM organizations WHERE id = ?',
  )
  const ofHolder = connection.prepare<{ readonly bytes: number }>(
    `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM stored_bytes
     WHERE org = ? AND holder = ?`,
  )
  const ofDevice = connection.prepare<{ readonly bytes: number }>(
    `SELECT bytes FROM stored_bytes
     WHERE org = ? AND holder = ? AND day = ? AND device_id = ?`,
  )
  const add = connection.prepare(
    `INSERT INTO stored_bytes (org, holder, day, device_id, bytes) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (org, holder, day, device_id)
     DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes`,
  )
  const keyOf = ({ org, batch }: BatchBytes) =>
    [org, holderOf(batch), dayOf(batch.chain.received_ms), batch.device_id] as const

  return {
    async exceeded(adding, limits) {
      const { org, bytes } = adding
      if (bytes === 0) return null
      const [, holder, day, device] = keyOf(adding)
      const ofDay = (await ofDevice.get(org, holder, day, device))?.bytes ?? 0
      if (ofDay + bytes > limits.ofDeviceADay) return 'device_quota'
      const { ofOrganization: most } = limits
      const held = (await ofHolder.get(org, holder))?.bytes ?? 0
      if (held + bytes > most * SHARE_OF_USER) return 'user_quota'
      const whole = (await ofOrganization.get(org))?.bytes ?? 0
      return whole + bytes > most ? 'organization_quota' : null
    },
    async book(adding) {
      if (adding.bytes > 0) await add.run(...keyOf(adding), adding.bytes)
    },
  }
}

/** No name of a user has a space. A user who enrols ever new devices has one share all the same. */
function holderOf({ username, device_id }: EvidenceBatch): string {
  return username ?? `device ${device_id}`
}
