import { defineAggregate } from '../aggregate.ts'
import { createDeviceSearch, type DeviceRow as Row } from './device-search-rows.ts'
import type {
  BehindDevices,
  BehindPage,
  DeviceFilter,
  DevicePage,
  DeviceStanding,
  FoundDevices,
  StandingPage,
} from './device-search.ts'
import { createListBehind, createListStandings } from './device-standing-rows.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { DeviceRecord } from '../../distribution-records.ts'
import type { Connection, Value } from '../../sql/connection.ts'
import { createInsertRows } from '../../sql/insert-rows.ts'

export interface DeviceReader {
  find(org: string, id: string): Promise<DeviceRecord | null>
  findById(id: string): Promise<DeviceRecord | null>
  findByThumbprint(thumbprint: string): Promise<DeviceRecord | null>
  /** Without those that were revoked. */
  countLive(org: string): Promise<number>
  /** Whether a device that was not revoked has the label. */
  hasLabel(org: string, label: string): Promise<boolean>
  countLiveOfUser(org: string, username: string): Promise<number>
  /** Each user of a device that was not revoked, once; null where one has no user. */
  listLiveUsers(org: string): Promise<(string | null)[]>
  /** With a label or a user in the filter, the window is of devices that have them. */
  search(org: string, filter: DeviceFilter, page: DevicePage): Promise<FoundDevices>
  /** Lists devices that were not revoked, by ascending id. */
  listStandings(org: string, page: StandingPage): Promise<DeviceStanding[]>
  /** Lists devices that have not reached the revision: most of a fleet is not read. */
  listBehind(org: string, page: BehindPage): Promise<BehindDevices>
}

export interface DeviceWriter extends DeviceReader {
  insert(device: DeviceRecord): Promise<void>
  setLabels(org: string, id: string, labels: readonly string[]): Promise<void>
  setName(org: string, id: string, name: string): Promise<void>
  /** Returns the device that this call revokes; null when it was revoked before. */
  revoke(id: string, revokedAt: string): Promise<DeviceRecord | null>
  /** Answers those that are revoked by this, by ascending id. */
  revokeOfUser(org: string, username: string, revokedAt: string): Promise<DeviceRecord[]>
}

export const DEVICES = defineAggregate({
  tables: [
    { name: 'devices', key: ['id'] },
    { name: 'device_labels', key: ['org', 'label', 'device_id'] },
  ],
  reader: createDeviceReader,
  writer: createDeviceWriter,
  events: auditDevices,
})

function auditDevices(
  devices: DeviceWriter,
  { record }: ChangeRecorder,
): Writes<DeviceWriter, DeviceReader> {
  async function recordRevoked(device: DeviceRecord): Promise<void> {
    await record({
      ...ofDevice(device),
      kind: 'device.revoked',
      before: showDevice({ ...device, revoked_at: null }),
      after: showDevice(device),
    })
  }

  return {
    async insert(device) {
      await devices.insert(device)
      const after = showDevice(device)
      await record({ ...ofDevice(device), kind: 'device.enrolled', before: null, after })
    },
    async setLabels(org, id, labels) {
      const before = await devices.find(org, id)
      await devices.setLabels(org, id, labels)
      if (before === null) return
      const after = showDevice({ ...before, labels })
      const change = { ...ofDevice(before), kind: 'device.labelled' as const }
      await record({ ...change, before: showDevice(before), after })
    },
    async setName(org, id, name) {
      const before = await devices.find(org, id)
      await devices.setName(org, id, name)
      if (before === null || before.name === name) return
      const after = showDevice({ ...before, name })
      await record({
        ...ofDevice(before),
        kind: 'device.renamed',
        before: showDevice(before),
        after,
      })
    },
    async revoke(id, revokedAt) {
      const device = await devices.revoke(id, revokedAt)
      if (device !== null) await recordRevoked(device)
      return device
    },
    async revokeOfUser(org, username, revokedAt) {
      const revoked = await devices.revokeOfUser(org, username, revokedAt)
      for (const device of revoked) await recordRevoked(device)
      return revoked
    },
  }
}

function ofDevice({ id, org, username }: DeviceRecord) {
  return { scope: { org }, subject: { id, name: username } }
}

function showDevice(device: DeviceRecord) {
  const { id, name, username, thumbprint, labels } = device
  const { enrolment_token_id, created_at, revoked_at } = device
  return {
    id,
    ...(name === null ? {} : { name }),
    user: username,
    thumbprint,
    labels: [...labels],
    ...(enrolment_token_id === null ? {} : { enrolment_token_id }),
    created_at,
    ...(revoked_at === null ? {} : { revoked_at }),
  }
}

function createDeviceReader(connection: Connection): DeviceReader {
  const find = connection.prepare<Row>('SELECT * FROM devices WHERE org = ? AND id = ?')
  const findById = connection.prepare<Row>('SELECT * FROM devices WHERE id = ?')
  const findByThumbprint = connection.prepare<Row>('SELECT * FROM devices WHERE thumbprint = ?')
  const countLive = connection.prepare<{ count: number }>(
    'SELECT count(*) AS count FROM devices WHERE org = ? AND revoked_at IS NULL',
  )
  const hasLabel = connection.prepare(
    `SELECT 1 FROM device_labels l JOIN devices d ON d.id = l.device_id
     WHERE l.org = ? AND l.label = ? AND d.revoked_at IS NULL LIMIT 1`,
  )
  const countLiveOfUser = connection.prepare<{ count: number }>(
    `SELECT CAST(count(*) AS INTEGER) AS count FROM devices
     WHERE org = ? AND username = ? AND revoked_at IS NULL`,
  )
  const listLiveUsers = connection.prepare<Pick<DeviceRecord, 'username'>>(
    'SELECT DISTINCT username FROM devices WHERE org = ? AND revoked_at IS NULL',
  )
  const search = createDeviceSearch(connection)
  return {
    listStandings: createListStandings(connection),
    listBehind: createListBehind(connection),
    async listLiveUsers(org) {
      return (await listLiveUsers.all(org)).map(({ username }) => username)
    },
    async countLive(org) {
      return (await countLive.get(org))?.count ?? 0
    },
    async hasLabel(org, label) {
      return (await hasLabel.get(org, label)) !== undefined
    },
    async countLiveOfUser(org, username) {
      return (await countLiveOfUser.get(org, username))?.count ?? 0
    },
    async find(org, id) {
      return toDeviceOrNull(await find.get(org, id))
    },
    async findById(id) {
      return toDeviceOrNull(await findById.get(id))
    },
    async findByThumbprint(thumbprint) {
      return toDeviceOrNull(await findByThumbprint.get(thumbprint))
    },
    async search(org, filter, page) {
      const { devices, through } = await search(org, filter, page)
      return { devices: devices.map(toDevice), through }
    },
  }
}

function createDeviceWriter(connection: Connection): DeviceWriter {
  const reader = createDeviceReader(connection)
  const insert = connection.prepare(`INSERT INTO devices
       (id, org, username, thumbprint, name, labels, enrolment_token_id, created_at, revoked_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const insertLabels = createInsertRows(
    connection,
    { name: 'device_labels', effect: 'everything' },
    [
      { name: 'org', type: 'TEXT' },
      { name: 'label', type: 'TEXT' },
      { name: 'device_id', type: 'TEXT' },
    ],
  )
  const deleteLabel = connection.prepare(
    'DELETE FROM device_labels WHERE org = ? AND label = ? AND device_id = ?',
  )
  const setLabels = connection.prepare('UPDATE devices SET labels = ? WHERE org = ? AND id = ?')
  const setName = connection.prepare('UPDATE devices SET name = ? WHERE org = ? AND id = ?')
  const revoke = connection.prepare<Row>(
    'UPDATE devices SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING *',
  )
  const revokeOfUser = connection.prepare<Row>(
    `UPDATE devices SET revoked_at = ? WHERE org = ? AND username = ? AND revoked_at IS NULL
     RETURNING *`,
  )
  return {
    ...reader,
    async insert(device) {
      await insert.run(
        device.id,
        device.org,
        device.username,
        device.thumbprint,
        device.name,
        JSON.stringify(device.labels),
        device.enrolment_token_id,
        device.created_at,
        device.revoked_at,
      )
      await insertLabels.run(labelRows(device))
    },
    async setLabels(org, id, labels) {
      const before = await reader.find(org, id)
      if (before === null) return
      for (const row of labelRows(before)) await deleteLabel.run(...row)
      await insertLabels.run(labelRows({ org, id, labels }))
      await setLabels.run(JSON.stringify(labels), org, id)
    },
    async setName(org, id, name) {
      await setName.run(name, org, id)
    },
    async revoke(id, revokedAt) {
      return toDeviceOrNull(await revoke.get(revokedAt, id))
    },
    async revokeOfUser(org, username, revokedAt) {
      const revoked = await revokeOfUser.all(revokedAt, org, username)
      return revoked.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(toDevice)
    },
  }
}

function labelRows({ org, id, labels }: Pick<DeviceRecord, 'org' | 'id' | 'labels'>): Value[][] {
  return labels.map((label) => [org, label, id])
}

function toDeviceOrNull(row: Row | undefined): DeviceRecord | null {
  return row === undefined ? null : toDevice(row)
}

function toDevice(row: Row): DeviceRecord {
  return { ...row, labels: JSON.parse(row.labels) as DeviceRecord['labels'] }
}
