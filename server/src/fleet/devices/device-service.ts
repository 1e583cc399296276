import type {
  Device,
  ListDevicesQuery,
  ListDevicesResponse,
  UpdateDeviceRequest,
} from '@palisade/protocol'
import type { Answer } from '../../http/answer.ts'
import { invalidArgument, notFound, permissionDenied } from '../../platform/api-error.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import {
  authorize,
  requireEntitled,
  requireWholeRole,
  type Access,
} from '../../identity/authorize.ts'
import { requireRoomForDevice, type Quotas } from '../../identity/limits/quotas.ts'
import type { WriteLimits } from '../../identity/limits/write-limits.ts'
import type { Caller, Principal } from '../../identity/principal.ts'
import type { OnceRequest } from '../../identity/idempotency/answer-once.ts'
import { createOnce } from '../../identity/idempotency/idempotent-post.ts'
import type { WorkBudget } from '../../work/work-budget.ts'
import type { DeviceRecord } from '../../store/distribution-records.ts'
import { enrolDevice, type EnrolDeps } from '../enrolment/enrol-device.ts'
import type { ProvenKey } from '../../identity/device/require-proof.ts'
import { listMachines } from '../machines/list-machines.ts'
import { formatMachine, readMachine } from '../machines/machines.ts'

export interface DeviceServiceDeps extends EnrolDeps {
  readonly store: AuditedStore
  readonly quotas: Quotas
  readonly writeLimits: WriteLimits
  /** Origin under which devices reach this server, such as `http://127.0.0.1:8420`. */
  readonly publicUrl: () => string
  readonly pageTokenKey: Uint8Array
  readonly budget: WorkBudget
}

export interface EnrolRequest {
  readonly user: string | undefined
  /** Undefined when the machine gives no name. */
  readonly name: string | undefined
  /** That the machine has proven to hold. */
  readonly key: ProvenKey
}

/** Everything throws ApiError. */
export interface DeviceService {
  /**
   * Enrols the machine with that key for `user`, or for no user when undefined. An administrator
   * may enrol for every member and for no user, a member for themselves. A member's token must hold
   * all permissions of the member's role.
   */
  enrol(caller: Caller, org: string, request: EnrolRequest, once: OnceRequest): Promise<Answer>
  /** Lists devices by ascending id; revoked ones too. */
  list(caller: Caller, org: string, query: ListDevicesQuery): Promise<ListDevicesResponse>
  update(caller: Caller, org: string, id: string, changed: UpdateDeviceRequest): Promise<Device>
  /** Revokes a device, for an administrator or its user; counts from its next request on. */
  revoke(caller: Caller, org: string, id: string): Promise<void>
}

export function createDeviceService(deps: DeviceServiceDeps): DeviceService {
  return {
    enrol(caller, org, { user, name, key }, once) {
      // An administrator enrols a fleet, so only the quota applies.
      if (caller.kind === 'user' && caller.username === user) deps.writeLimits.countOwn(caller)
      return deps.store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, null)
        requireMayEnrol(caller, access, user)
        requireEntitled(access.organization)
        if (user !== undefined && (await writer.memberships.find(org, user)) === null)
          throw invalidArgument('`user` must be a member of the organization', { field: 'user' })
        key.consumeToEnrol(caller.author.actor)
        return createOnce(writer, once, deps.now(), async () => {
          const isOwn = !access.permissions.includes('organization:admin')
          await requireRoomForDevice(writer, deps.quotas, { org, user: user ?? null, isOwn })
          return enrolDevice(
            deps,
            writer,
            {
              org,
              user: user ?? null,
              thumbprint: key.thumbprint,
              name: name ?? null,
              labels: [],
              enrolment_token_id: null,
            },
            { server: deps.publicUrl() },
          )
        })
      })
    },

    list: (caller, org, query) => listMachines(deps, caller, org, query),

    update: (caller, org, id, { labels, name }) =>
      deps.store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        const device = requireDevice(await writer.devices.find(org, id))
        if (labels !== undefined) await writer.devices.setLabels(org, id, labels.toSorted())
        if (name !== undefined) await writer.devices.setName(org, id, name)
        const changed = (await writer.devices.find(org, id)) ?? device
        return formatMachine(await readMachine(writer, changed))
      }),

    revoke: (caller, org, id) =>
      deps.store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, null)
        requireMayRevoke(caller, access, await writer.devices.find(org, id))
        await writer.devices.revoke(id, deps.now().toISOString())
      }),
  }
}

function requireMayEnrol(caller: Caller, access: Access, user: string | undefined): void {
  if (access.permissions.includes('organization:admin')) return
  if (caller.kind === 'user' && caller.username === user) return requireWholeRole(access)
  throw permissionDenied(
    'enrolling for others, or without a user, needs the permission `organization:admin`; ' +
      'name yourself in `user` (`--user NAME`)',
  )
}

/**
 * Throws 403 or 404 unless the caller may revoke the device. A device of another user and a missing
 * one give the same answer, which hides the devices that exist.
 */
export function requireMayRevoke(
  caller: Principal,
  access: Access,
  device: DeviceRecord | null,
): void {
  const isOwn = caller.kind === 'user' && caller.username === device?.username
  if (!access.permissions.includes('organization:admin')) {
    if (!isOwn)
      throw permissionDenied(
        'revoking a device that is not yours needs the permission `organization:admin`',
      )
    requireWholeRole(access)
  }
  requireDevice(device)
}

/** Throws 404. */
export function requireDevice(device: DeviceRecord | null): DeviceRecord {
  if (device === null) throw notFound('device not found')
  return device
}
