import type { Device, Enrolment } from '@palisade/protocol'
import type { Answer } from '../http/answer.ts'
import { invalidArgument, notFound, permissionDenied } from '../http/api-error.ts'
import type { AuditedStore } from '../history/audited-store.ts'
import { authorize, requireEntitled, type Access } from '../accounts/authorize.ts'
import type { Caller, Principal } from '../accounts/principal.ts'
import type { OnceRequest } from '../idempotency/answer-once.ts'
import { createOnce } from '../idempotency/idempotent-post.ts'
import type { DeviceRecord } from '../store/records.ts'
import type { StoreWriter } from '../store/store.ts'
import { ensureTrust } from './views/trust.ts'
import { createSecretToken, hashSecretToken } from '../tokens/secret-token.ts'

export interface EnrolDeps {
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly newId: () => string
}

export interface DeviceServiceDeps extends EnrolDeps {
  readonly store: AuditedStore
  /** Origin under which devices reach this server, such as `http://127.0.0.1:8420`. */
  readonly publicUrl: () => string
}

/** Everything throws ApiError. */
export interface DeviceService {
  /**
   * Enrols a device for `user`, or for nobody when undefined. An administrator may enrol for every
   * member and for nobody, a member for himself.
   */
  enrol(caller: Caller, org: string, user: string | undefined, once: OnceRequest): Promise<Answer>
  /** By ascending id; revoked ones too. */
  list(caller: Caller, org: string): Promise<Device[]>
  /** By an administrator, or the user whose device it is; counts from its next request on. */
  revoke(caller: Caller, org: string, id: string): Promise<void>
}

export function createDeviceService(deps: DeviceServiceDeps): DeviceService {
  return {
    enrol: (caller, org, user, once) =>
      deps.store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, null)
        requireMayEnrol(caller, access, user)
        requireEntitled(access.organization)
        if (user !== undefined && (await writer.memberships.find(org, user)) === null)
          throw invalidArgument('`user` must be a member of the organization', { field: 'user' })
        return createOnce(writer, once, deps.now(), () =>
          enrolDevice(deps, writer, { org, user: user ?? null, server: deps.publicUrl() }),
        )
      }),

    list: (caller, org) =>
      deps.store.read(async (reader) => {
        await authorize(reader, caller, org, 'organization:admin')
        const lastSeen = await reader.devicePolls.list(org)
        const devices = await reader.devices.list(org)
        return devices.map((device) => formatDevice(device, lastSeen.get(device.id)))
      }),

    revoke: (caller, org, id) =>
      deps.store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, null)
        requireMayRevoke(caller, access, await writer.devices.find(org, id))
        await writer.devices.revoke(id, deps.now().toISOString())
      }),
  }
}

/** Stores a new device and answers what its token file holds. Judges nothing. */
export async function enrolDevice(
  deps: EnrolDeps,
  writer: StoreWriter,
  { org, user, server }: Pick<Enrolment, 'org' | 'user' | 'server'>,
): Promise<Enrolment> {
  const device_id = deps.newId()
  const device_token = createSecretToken('device', deps.random)
  await writer.devices.insert({
    id: device_id,
    org,
    username: user,
    token_hash: hashSecretToken(device_token),
    created_at: deps.now().toISOString(),
    revoked_at: null,
  })
  const root = Buffer.from((await ensureTrust(writer, org, deps.now())).root.body).toString()
  return { server, org, user, device_id, device_token, root }
}

function requireMayEnrol(caller: Caller, access: Access, user: string | undefined): void {
  if (access.permissions.includes('organization:admin')) return
  if (caller.kind === 'user' && caller.username === user) return
  throw permissionDenied(
    'enrolling for others needs the permission `organization:admin`; send your own name as `user`',
  )
}

/**
 * Throws 403 or 404 unless the caller may revoke the device. One answer for a device of somebody
 * else and for none, so that nobody learns which there are.
 */
export function requireMayRevoke(
  caller: Principal,
  access: Access,
  device: DeviceRecord | null,
): void {
  const isOwn = caller.kind === 'user' && caller.username === device?.username
  if (!isOwn && !access.permissions.includes('organization:admin'))
    throw permissionDenied(
      'revoking a device that is not yours needs the permission `organization:admin`',
    )
  if (device === null) throw notFound('device not found')
}

function formatDevice(device: DeviceRecord, last_seen_at: string | undefined): Device {
  const { id, username, created_at, revoked_at } = device
  return {
    id,
    user: username,
    created_at,
    ...(revoked_at === null ? {} : { revoked_at }),
    ...(last_seen_at === undefined ? {} : { last_seen_at }),
  }
}
