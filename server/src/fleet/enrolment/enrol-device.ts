import type { Enrolment } from '@palisade/protocol'
import { conflict } from '../../platform/api-error.ts'
import type { DeviceRecord, RootRecord } from '../../store/distribution-records.ts'
import type { StoreWriter } from '../../store/store.ts'
import { ensureTrust } from '../../views/keys/trust.ts'

export interface EnrolDeps {
  readonly now: () => Date
  readonly newId: () => string
}

/** A machine that has proven to hold a key. */
export interface NewDevice {
  readonly org: string
  readonly user: string | null
  /** The thumbprint of its key. */
  readonly thumbprint: string
  /** Null when the machine gave no name. */
  readonly name: string | null
  readonly labels: readonly string[]
  readonly enrolment_token_id: string | null
}

/**
 * Stores a new device. A key belongs to one device, even after its revocation. Returns the
 * enrolment that the machine keeps, with the newest root unless another is given. Throws 409;
 * checks no other rule.
 */
export async function enrolDevice(
  deps: EnrolDeps,
  writer: StoreWriter,
  { user, ...made }: NewDevice,
  { server, root }: { readonly server: string; readonly root?: RootRecord },
): Promise<Enrolment> {
  if ((await writer.devices.findByThumbprint(made.thumbprint)) !== null)
    throw conflict('this key belongs to another device; create a new one')
  const device = {
    ...made,
    id: deps.newId(),
    username: user,
    created_at: deps.now().toISOString(),
    revoked_at: null,
  }
  await writer.devices.insert(device)
  return formatEnrolment(device, {
    server,
    root: root ?? (await ensureTrust(writer, made.org, deps.now())).root,
  })
}

export function formatEnrolment(
  { id, org, username }: Pick<DeviceRecord, 'id' | 'org' | 'username'>,
  { server, root }: { readonly server: string; readonly root: RootRecord },
): Enrolment {
  const text = Buffer.from(root.body).toString()
  return { server, org, user: username, device_id: id, root: text }
}
