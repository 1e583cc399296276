import type { AccessGrant } from '@palisade/protocol'
import { formatGrant } from '../store/aggregates/policies/format-access-request.ts'
import { conflict } from '../platform/api-error.ts'
import { createFairQueue } from '../work/fair-queue.ts'
import { nextTurn } from '../platform/next-turn.ts'
import type { DeviceAssignmentRecord, DeviceRecord } from '../store/distribution-records.ts'
import type { Store, StoreReader, StoreWriter } from '../store/store.ts'
import { findAssignedView, readAssignmentInputs } from './assigned-view.ts'
import { secondsOf } from './publication/renewal.ts'
import type { ViewRef } from './inspect-view.ts'

/** Each takes a read or two; other writers wait for no more than these. */
const DEVICES_OF_TRANSACTION = 16
/** Most transactions at a time; those that wait together share a commit. */
const TRANSACTIONS_AT_ONCE = 4

/** A device for which an assignment is to be signed. */
export interface Assignee {
  readonly deviceId: string
  readonly viewRef: ViewRef
  /** The newest version that it says to have accepted; 0 before the first. */
  readonly heldVersion: number
}

/**
 * An assignment with the grants of the user from the same snapshot of the store. A change of grants
 * raises the version in its own transaction, so that one version never has two sets of grants, but
 * for those that have ended by time.
 */
export interface AssignmentState extends DeviceAssignmentRecord {
  /** Grants by id; none that had ended when they were read. */
  readonly grants: readonly AccessGrant[]
}

/**
 * The stored assignment of the device, or a new one after a change of its view. Throws ApiError 409
 * when the view is not the requested one any more.
 */
export type FindAssignment = (assignee: Assignee) => Promise<AssignmentState>

interface Waiting extends Assignee {
  readonly resolve: (assignment: AssignmentState) => void
  readonly reject: (error: unknown) => void
}

/**
 * Machines tell the order of assignments by their versions. So that a recorded one never follows
 * one of another view, a version is durable before anything is signed with it, and the view is
 * compared anew in the same transaction: of two servers, or before and after a restart, the later
 * always knows of the earlier, independent of their clocks.
 */
export function createAssignmentVersions(deps: {
  readonly store: Pick<Store, 'transaction'>
  readonly now: () => Date
}): FindAssignment {
  const { store, now } = deps
  const waiting = createFairQueue<Waiting>()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (waiting.size() > 0) {
      // Those of the same turn share a transaction.
      await nextTurn()
      await Promise.all(Array.from({ length: TRANSACTIONS_AT_ONCE }, settleAll))
    }
    isRunning = false
  }

  async function settleAll(): Promise<void> {
    while (waiting.size() > 0) await settle(takeSome())
  }

  function takeSome(): Waiting[] {
    const some: Waiting[] = []
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      some.push(next)
      if (some.length === DEVICES_OF_TRANSACTION) break
    }
    return some
  }

  async function settle(some: readonly Waiting[]): Promise<void> {
    try {
      const found = await store.transaction((writer) => assign(writer, some, now()))
      for (const [index, { resolve, reject }] of some.entries()) {
        const assignment = found[index] ?? null
        if (assignment === null) reject(conflict('the view has just changed; try again'))
        else resolve(assignment)
      }
    } catch (error) {
      for (const { reject } of some) reject(error)
    }
  }

  return (assignee) =>
    new Promise((resolve, reject) => {
      waiting.push([assignee.viewRef.org], { ...assignee, resolve, reject })
      if (!isRunning) void run()
    })
}

/** Null for each device whose view has changed. */
async function assign(
  writer: StoreWriter,
  some: readonly Assignee[],
  now: Date,
): Promise<(AssignmentState | null)[]> {
  const nowSeconds = secondsOf(now)
  const known = await writer.deviceAssignments.list(some.map(({ deviceId }) => deviceId))
  const found: (AssignmentState | null)[] = []
  const made = new Map<string, DeviceAssignmentRecord>()
  for (const { deviceId, viewRef, heldVersion } of some) {
    const before = made.get(deviceId) ?? known.get(deviceId) ?? null
    const device = await writer.devices.find(viewRef.org, deviceId)
    if (device === null || !(await isOwn(writer, device, viewRef))) {
      found.push(null)
      continue
    }
    const grants = await readGrants(writer, device, now)
    if (before !== null && isGood(before, { viewRef, heldVersion }, nowSeconds))
      found.push({ ...before, grants })
    else {
      const least = heldVersion > nowSeconds ? 0 : heldVersion + 1
      const version = Math.max(nowSeconds, (before?.version ?? 0) + 1, least)
      const assignment = { device_id: deviceId, view_id: viewRef.id, version }
      made.set(deviceId, assignment)
      found.push({ ...assignment, grants })
    }
  }
  await writer.deviceAssignments.put([...made.values()])
  return found
}

/** Grants of the user of the device that have not ended. */
export async function readGrants(
  reader: StoreReader,
  { org, username }: Pick<DeviceRecord, 'org' | 'username'>,
  now: Date,
): Promise<readonly AccessGrant[]> {
  if (username === null) return NO_GRANTS
  const granted = await reader.accessRequests.listGrants(org, username, now.toISOString())
  return granted.length === 0 ? NO_GRANTS : granted.flatMap((each) => formatGrant(each) ?? [])
}

/** Shared, because most devices of a fleet have none. */
const NO_GRANTS: readonly AccessGrant[] = []

async function isOwn(
  writer: StoreWriter,
  device: DeviceRecord,
  viewRef: ViewRef,
): Promise<boolean> {
  return findAssignedView(await readAssignmentInputs(writer, device))?.id === viewRef.id
}

/**
 * Whether an assignment may be signed with that version. A machine knows a later version than the
 * store after the store was restored from a backup. A version in the future is ignored: it comes
 * from a wrong clock or an attacker, who must not use up the versions of a machine.
 */
export function isGood(
  { view_id, version }: DeviceAssignmentRecord,
  { viewRef, heldVersion }: Pick<Assignee, 'viewRef' | 'heldVersion'>,
  nowSeconds: number,
): boolean {
  return view_id === viewRef.id && (version >= heldVersion || heldVersion > nowSeconds)
}
