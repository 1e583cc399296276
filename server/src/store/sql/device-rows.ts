import type { DeviceReader, DeviceWriter } from '../contract/credentials.ts'
import type { DeviceRecord } from '../distribution-records.ts'
import type { Connection, Value } from './connection.ts'
import { createDeviceSearch, type DeviceRow as Row } from './device-search.ts'
import { createListBehind, createListStandings } from './device-standings.ts'
import { createInsertRows } from './insert-rows.ts'

export function createDeviceReader(connection: Connection): DeviceReader {
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

export function createDeviceWriter(connection: Connection): DeviceWriter {
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
