import {
  bundleSchema,
  deviceRecordsSchema,
  deviceSchema,
  enrolmentSchema,
  grantSchema,
  listDevicesResponseSchema,
  listGrantsResponseSchema,
  MAX_BUNDLE_BYTES,
  type Bundle,
  type Device,
  type DeviceRecords,
  type Enrolment,
  type Grant,
  type IssueGrantRequest,
  type ListDevicesQuery,
  type OutstandingGrant,
} from '@palisade/protocol'
import type { Prove } from '../device/proof.ts'
import type { Call } from './call.ts'
import { apiPath, formatQuery } from './server-url.ts'

export type DeviceFilter = Omit<ListDevicesQuery, 'cursor' | 'page_size'>

export interface DevicesClient {
  /** Enrols the machine with the key of `prove`, for `user` or without a user. */
  enrol(machine: {
    readonly prove: Prove
    readonly user?: string | undefined
    readonly name?: string | undefined
  }): Promise<Enrolment>
  /** Lists the devices that pass the filter, including revoked ones, page by page. */
  list(filter?: DeviceFilter): Promise<readonly Device[]>
  setLabels(deviceId: string, labels: readonly string[]): Promise<Device>
  rename(deviceId: string, name: string): Promise<Device>
  /** A bundle of all files that the device would fetch now, for manual transfer. */
  bundle(deviceId: string): Promise<Bundle>
  /** Issues a break-glass grant for manual transfer to the device. */
  issueGrant(deviceId: string, request: IssueGrantRequest): Promise<Grant>
  /** Lists the grants that may still start or be in force. */
  grants(deviceId: string): Promise<readonly OutstandingGrant[]>
  /** How far its decision records are stored, and which are missing. */
  records(deviceId: string): Promise<DeviceRecords>
  /** Revokes the device: its next request is refused. */
  revoke(deviceId: string): Promise<void>
}

/** `server` is that of the wire. Proofs do not include the prefix of its path. */
export function createDevicesClient(call: Call, root: string, server: string): DevicesClient {
  return {
    enrol: async ({ prove, user, name }) =>
      call(
        {
          method: 'POST',
          path: root,
          headers: { dpop: prove({ method: 'POST', url: new URL(root, server).href }) },
          body: {
            ...(user === undefined ? {} : { user }),
            ...(name === undefined ? {} : { name }),
          },
        },
        enrolmentSchema,
      ),
    async list(filter = {}) {
      const all: Device[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const path = root + formatQuery(cursor === undefined ? filter : { ...filter, cursor })
        const page = await call({ method: 'GET', path }, listDevicesResponseSchema)
        all.push(...page.data)
        cursor = page.next_cursor
      }
      return all
    },
    setLabels: async (deviceId, labels) =>
      call({ method: 'PATCH', path: root + apiPath(deviceId), body: { labels } }, deviceSchema),
    rename: async (deviceId, name) =>
      call({ method: 'PATCH', path: root + apiPath(deviceId), body: { name } }, deviceSchema),
    bundle: async (deviceId) =>
      call(
        {
          method: 'GET',
          path: root + apiPath(deviceId, 'bundle'),
          maxAnswerBytes: MAX_BUNDLE_BYTES,
        },
        bundleSchema,
      ),
    issueGrant: async (deviceId, request) =>
      call(
        { method: 'POST', path: root + apiPath(deviceId, 'break-glass'), body: request },
        grantSchema,
      ),
    async grants(deviceId) {
      const path = root + apiPath(deviceId, 'break-glass')
      return (await call({ method: 'GET', path }, listGrantsResponseSchema)).data
    },
    records: async (id) =>
      call({ method: 'GET', path: `${root}${apiPath(id, 'records')}` }, deviceRecordsSchema),
    revoke: async (deviceId) => call.empty({ method: 'DELETE', path: root + apiPath(deviceId) }),
  }
}
