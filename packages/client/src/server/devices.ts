import {
  bundleSchema,
  deviceSchema,
  enrolmentSchema,
  grantSchema,
  listDevicesResponseSchema,
  listGrantsResponseSchema,
  MAX_BUNDLE_BYTES,
  type Bundle,
  type Device,
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
  /** Enrols the machine whose key proves itself by `prove`, for `user` or for nobody. */
  enrol(machine: {
    readonly prove: Prove
    readonly user?: string | undefined
    readonly name?: string | undefined
  }): Promise<Enrolment>
  /** All of them that pass, revoked ones too, page by page. */
  list(filter?: DeviceFilter): Promise<readonly Device[]>
  setLabels(deviceId: string, labels: readonly string[]): Promise<Device>
  rename(deviceId: string, name: string): Promise<Device>
  /** All that the device would fetch now, to be carried to it by hand. */
  bundle(deviceId: string): Promise<Bundle>
  /** A break-glass grant, to be carried to the device by hand. */
  issueGrant(deviceId: string, request: IssueGrantRequest): Promise<Grant>
  /** Those that may be begun, or be in force. */
  grants(deviceId: string): Promise<readonly OutstandingGrant[]>
  /** From its next request on the device is refused. */
  revoke(deviceId: string): Promise<void>
}

/** `server` is that of the wire; a prefix of its path is not what a proof is made for. */
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
    revoke: async (deviceId) => call.empty({ method: 'DELETE', path: root + apiPath(deviceId) }),
  }
}
