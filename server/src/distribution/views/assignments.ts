import { MAX_ASSIGNED_AHEAD_SECONDS, type DeviceView } from '@palisade/protocol'
import type { Store, StoreWriter } from '../../store/store.ts'
import type { ViewPlace } from './inspect-view.ts'
import type { OpenKey } from './opened-keys.ts'
import type { RoleKey } from './role-key.ts'
import { createRecent } from '../../recent.ts'
import { signDeviceView } from './sign-device-view.ts'
import { ensureTrust } from './trust.ts'

const SECOND_MS = 1000
const MAX_SIGNERS = 10_000
/** Half of them are found even while others come in turns; each takes about a kilobyte. */
const MAX_ASSIGNMENTS = 20_000
/**
 * A machine is stale by so much sooner; an assignment lives an hour at least, and a machine in its own view takes
 * one that is ten minutes older than its last.
 */
const REUSE_MS = 5 * 60 * 1000

/** What an organization signs with. */
interface Signer {
  /** `Store.generation` from before the store was asked. */
  readonly generation: number
  readonly key: RoleKey
  readonly lifeMs: number
}

type Content = Parameters<typeof signDeviceView>[0]

interface Made extends Omit<Signer, 'generation'> {
  readonly issuedMs: number
  readonly assignment: DeviceView
}

/** A device and its view. */
export interface Assigned {
  readonly deviceId: string
  readonly user: string | null
  readonly place: ViewPlace
  /** The device takes none that was issued earlier; in milliseconds since 1970, 0 for any. */
  readonly leastIssuedMs: number
}

/**
 * Signs which view is a device's own; as of now, or of some minutes ago when it was the same. Machines tell the order
 * of assignments by their seconds, so one of another view is of a later second than the one before.
 */
export type Assign = (assigned: Assigned) => Promise<DeviceView>

/**
 * The store is asked for the key again after anything was written: a fleet that fetches one change asks for
 * thousands of assignments in between. A machine that fetches several changes within minutes gets the
 * same one, which it has verified already; a signature is a tenth of what an update costs.
 */
export function createAssignments(deps: {
  readonly store: Store
  readonly now: () => Date
  readonly openKey: OpenKey
}): Assign {
  const { store, now, openKey } = deps
  const signers = createRecent<Signer>(MAX_SIGNERS, () => 1)
  const assignments = createRecent<Made>(MAX_ASSIGNMENTS, () => 1)
  const makeKey = (org: string): Promise<RoleKey> =>
    store.transaction((writer) => makeTargetsKey(writer, org, now()))

  async function readSigner(org: string): Promise<Signer> {
    const generation = store.generation()
    const { keys, distribution } = await store.read(async (reader) => ({
      keys: await reader.trust.keys(org),
      distribution: await reader.organizations.distribution(org),
    }))
    const known = keys.find(({ role }) => role === 'targets')
    const key = known === undefined ? await makeKey(org) : openKey(known)
    return { generation, key, lifeMs: distribution.fresh_for_seconds * 1000 }
  }

  async function findSigner(org: string): Promise<Signer> {
    const known = signers.find(org)
    if (known?.generation === store.generation()) return known
    const signer = await readSigner(org)
    signers.keep(org, signer)
    return signer
  }

  return async ({ deviceId, user, place, leastIssuedMs }) => {
    const { key, lifeMs } = await findSigner(place.org)
    const content = { org: place.org, device_id: deviceId, user, view: place.id }
    const nowMs = now().getTime()
    const before = assignments.find(deviceId)
    const isLateEnough = before !== null && secondOf(before.issuedMs) >= leastIssuedMs
    if (isLateEnough && before.key === key && before.lifeMs === lifeMs)
      if (isSame(content, before) && isReusable(before, nowMs)) return before.assignment
    const issuedMs = Math.max(
      nowMs,
      Math.min(leastIssuedMs, nowMs + MAX_ASSIGNED_AHEAD_SECONDS * SECOND_MS),
      before === null || isSame(content, before) ? 0 : before.issuedMs + SECOND_MS,
    )
    const assignment = signDeviceView(content, key, new Date(issuedMs), lifeMs)
    assignments.keep(deviceId, { key, lifeMs, issuedMs, assignment })
    return assignment
  }
}

function isReusable({ issuedMs }: Made, nowMs: number): boolean {
  return nowMs >= issuedMs && nowMs < issuedMs + REUSE_MS
}

function isSame(content: Content, { assignment }: Made): boolean {
  const { org, device_id, user, view } = assignment.signed
  return (
    org === content.org &&
    device_id === content.device_id &&
    user === content.user &&
    view === content.view
  )
}

/** As it is signed. */
function secondOf(ms: number): number {
  return Math.floor(ms / SECOND_MS) * SECOND_MS
}

async function makeTargetsKey(writer: StoreWriter, org: string, now: Date): Promise<RoleKey> {
  return (await ensureTrust(writer, org, now)).keys.targets
}
