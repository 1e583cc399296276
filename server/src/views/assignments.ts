import { DEVICE_VIEW_TYPE, MAX_DEVICE_GRANTS, type DeviceView } from '@palisade/protocol'
import { isDeepStrictEqual } from 'node:util'
import type { Store, StoreWriter } from '../store/store.ts'
import type { DeviceSession } from './device-sessions.ts'
import { createAssignmentVersions, isGood, type AssignmentState } from './assignment-versions.ts'
import { secondsOf } from './publication/renewal.ts'
import { signDocument, type OpenKey, type RoleKey } from './keys/role-key.ts'
import { createLruCache } from '../platform/lru-cache.ts'
import { ensureTrust } from './keys/trust.ts'
import { formatTufTime } from './keys/metadata.ts'

const MAX_SIGNERS = 10_000
/** Each takes about a kilobyte. */
const MAX_ASSIGNMENTS = 20_000
/** A machine is stale by so much sooner; an assignment lives an hour at least. */
const REUSE_MS = 5 * 60 * 1000

/** The keys that an organization signs with. */
interface Signer {
  /** `Store.generation` from before the store was asked. */
  readonly generation: number
  readonly key: RoleKey
  readonly lifeMs: number
}

type Content = Parameters<typeof signDeviceView>[0]

interface Making extends Omit<Signer, 'generation'> {
  readonly issuedMs: number
  /** The stored version that is signed. */
  readonly kept: AssignmentState
  readonly content: Content
}

interface Made extends Making {
  readonly assignment: DeviceView
}

/** Content of an assignment that a machine asks for. */
export interface AskedAssignment {
  /** The newest version that it has accepted, 0 before the first. */
  readonly heldVersion: number
  /** To be signed; null unless the machine is revoked. */
  readonly nonce: string | null
}

/** Signs which view is a device's own; as of now, or of some minutes ago when it was the same. */
export type Assign = (device: Device, asked: AskedAssignment) => Promise<DeviceView>

type Device = Pick<DeviceSession, 'deviceId' | 'user' | 'viewRef' | 'assignment'>

/**
 * Signs the assignments of devices. The key is read again after each commit, because a fleet that
 * fetches one change asks for thousands of assignments in between. A machine that fetches several
 * changes within minutes gets the same assignment, which it has verified already. The store is
 * written to only when a device asks for another view than the one that it was assigned to last.
 */
export function createAssignments(deps: {
  readonly store: Store
  readonly now: () => Date
  readonly openKey: OpenKey
}): Assign {
  const { store, now, openKey } = deps
  const signers = createLruCache<Signer>(MAX_SIGNERS, () => 1)
  const assignments = createLruCache<Made>(MAX_ASSIGNMENTS, () => 1)
  const findAssignment = createAssignmentVersions(deps)
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

  /** From memory while the view is the same. */
  async function findCurrent(
    { deviceId, viewRef, assignment }: Device,
    before: Made | null,
    heldVersion: number,
  ): Promise<AssignmentState> {
    const assignee = { deviceId, viewRef, heldVersion }
    const known = newerOf(assignment, before?.kept ?? null)
    if (known !== null && isGood(known, assignee, secondsOf(now()))) return known
    return findAssignment(assignee)
  }

  return async (device, { heldVersion, nonce }) => {
    const { deviceId, user, viewRef } = device
    const before = assignments.find(deviceId)
    const kept = await findCurrent(device, before, heldVersion)
    const { key, lifeMs } = await findSigner(viewRef.org)
    const issuedMs = now().getTime()
    const content: Content = {
      org: viewRef.org,
      device_id: deviceId,
      user,
      view: viewRef.id,
      version: kept.version,
      ...formatGrants(kept, issuedMs),
      ...(nonce === null ? {} : { nonce }),
    }
    const making = { key, lifeMs, issuedMs, kept, content }
    if (before !== null && isReusable(before, making)) return before.assignment
    const assignment = signDeviceView(content, key, new Date(issuedMs), lifeMs)
    assignments.keep(deviceId, { ...making, assignment })
    return assignment
  }
}

/** A device that was admitted some time ago may have been assigned to a view since. */
function newerOf(
  one: AssignmentState | null,
  other: AssignmentState | null,
): AssignmentState | null {
  return (other?.version ?? 0) > (one?.version ?? 0) ? other : one
}

/** The limit of an organization is no higher; this one keeps the document readable in any case. */
function formatGrants(
  { grants }: AssignmentState,
  nowMs: number,
): Pick<DeviceView['signed'], 'grants'> {
  const lasting = grants.filter(({ expires_at }) => Date.parse(expires_at) > nowMs)
  return lasting.length === 0 ? {} : { grants: lasting.slice(0, MAX_DEVICE_GRANTS) }
}

function isReusable(before: Made, { key, lifeMs, content, issuedMs }: Making): boolean {
  if (before.key !== key || before.lifeMs !== lifeMs) return false
  if (issuedMs < before.issuedMs || issuedMs >= before.issuedMs + REUSE_MS) return false
  return isDeepStrictEqual(before.content, content)
}

async function makeTargetsKey(writer: StoreWriter, org: string, now: Date): Promise<RoleKey> {
  return (await ensureTrust(writer, org, now)).keys.targets
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Says to one machine which view is its own, for as long as a timestamp lives: one that moved must
 * not be kept in its former view for longer, and is stale when either of them is over.
 */
export function signDeviceView(
  content: Omit<DeviceView['signed'], '_type' | 'issued' | 'expires'>,
  key: RoleKey,
  now: Date,
  lifeMs: number = DAY_MS,
): DeviceView {
  return signDocument(key, {
    _type: DEVICE_VIEW_TYPE,
    ...content,
    issued: formatTufTime(now.getTime()),
    expires: formatTufTime(now.getTime() + lifeMs),
  })
}
