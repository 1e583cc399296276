import type { AssuranceFilter } from '@palisade/protocol'
import { classesOf } from '@palisade/protocol'
import type { DeviceFilter, DevicePage, FoundDevices } from './device-search.ts'
import type { DeviceRecord } from '../../distribution-records.ts'
import type { Connection, Value } from '../../sql/connection.ts'

export type DeviceRow = Omit<DeviceRecord, 'labels'> & { readonly labels: string }

/** Above every id, which is of letters, digits and hyphens. */
const BEYOND_ALL = '~'

/** Which devices are looked at, by the organization and perhaps a name, in the order of `id`. */
interface Source {
  /** A table or an index that alone has the keys. */
  readonly keys: string
  readonly from: string
  readonly org: string
  /** The column of the name; null without one. */
  readonly name: string | null
  readonly id: string
}

const OF_ORGANIZATION: Source = {
  keys: 'devices d',
  from: 'devices d',
  org: 'd.org',
  name: null,
  id: 'd.id',
}
const OF_USER: Source = { ...OF_ORGANIZATION, name: 'd.username' }
const WITH_LABEL: Source = {
  keys: 'device_labels l',
  from: 'device_labels l JOIN devices d ON d.id = l.device_id',
  org: 'l.org',
  name: 'l.label',
  id: 'l.device_id',
}

/**
 * Conditions on a device beyond its position in the source; null lets every device through.
 * PostgreSQL asks for the type of each null.
 */
const CONDITIONS = `(CAST(? AS TEXT) IS NULL OR d.username = ?)
  AND (CAST(? AS TEXT) IS NULL OR substr(d.name, 1, CAST(? AS INTEGER)) = ?)
  AND (CAST(? AS TEXT) IS NULL OR r.state = ?)
  AND (CAST(? AS BIGINT) IS NULL OR r.revision = ?)
  AND (CAST(? AS TEXT) IS NULL OR r.assurance IN (?, ?, ?, ?)
    OR (CAST(? AS INTEGER) = 1 AND r.assurance IS NULL))
  AND (CAST(? AS TEXT) IS NULL OR (d.revoked_at IS NULL AND d.created_at < ?
    AND (p.seen_at IS NULL OR p.seen_at < ?) AND (r.reported_at IS NULL OR r.reported_at < ?)))`

/** Looks at no more devices than it is told, each by an index in the order of the pages. */
export function createDeviceSearch(
  connection: Connection,
): (org: string, filter: DeviceFilter, page: DevicePage) => Promise<FoundDevices<DeviceRow>> {
  const ofOrganization = createSource(connection, OF_ORGANIZATION)
  const ofUser = createSource(connection, OF_USER)
  const withLabel = createSource(connection, WITH_LABEL)

  return async (org, filter, { after, window, limit }) => {
    const { user = null, label = null, state = null, revision = null } = filter
    const { silentSince = null, name = null, assurance = null } = filter
    const [source, key] = chooseSource()
    const last = (await source.last.get(org, ...key, after, window - 1))?.id ?? null
    const span = [...key, after, ...key, last ?? BEYOND_ALL]
    const silent = [silentSince, silentSince, silentSince, silentSince]
    const named = [name, name === null ? 0 : [...name].length, name]
    const conditions = [
      user,
      user,
      ...named,
      state,
      state,
      revision,
      revision,
      ...classConditions(assurance),
      ...silent,
    ]
    const devices = await source.list.all(org, ...span, ...conditions, limit)
    return { devices, through: last }

    function chooseSource(): [typeof ofOrganization, Value[]] {
      if (label !== null) return [withLabel, [label]]
      return user === null ? [ofOrganization, []] : [ofUser, [user]]
    }
  }
}

/** The first is null without a filter; a device without a report has no class. */
function classConditions(filter: AssuranceFilter | null): Value[] {
  if (filter === null) return [null, null, null, null, null, 0]
  const { classes, orNone } = classesOf(filter)
  const [one, two = one, three = one, four = one] = classes
  return [filter, one ?? null, two ?? null, three ?? null, four ?? null, Number(orNone)]
}

/** Compared as pairs, because SQLite otherwise takes the index without the name. */
function createSource(connection: Connection, { keys, from, org, name, id }: Source) {
  const key = name === null ? id : `(${name}, ${id})`
  const given = name === null ? '?' : '(?, ?)'
  return {
    /** The last one of a window. */
    last: connection.prepare<{ id: string }>(
      `SELECT ${id} AS id FROM ${keys}
       WHERE ${org} = ? ${name === null ? '' : `AND ${name} = ?`} AND ${id} > ?
       ORDER BY ${id} LIMIT 1 OFFSET ?`,
    ),
    list: connection.prepare<DeviceRow>(
      `SELECT d.* FROM ${from}
       LEFT JOIN device_reports r ON r.device_id = d.id
       LEFT JOIN device_polls p ON p.device_id = d.id
       WHERE ${org} = ? AND ${key} > ${given} AND ${key} <= ${given} AND ${CONDITIONS}
       ORDER BY ${name === null ? '' : `${name}, `}${id} LIMIT ?`,
    ),
  }
}
