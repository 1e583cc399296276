import type { DeviceView } from '@palisade/protocol'
import { notFound } from '../platform/api-error.ts'
import type { Work } from '../work/work-budget.ts'
import type { Store } from '../store/store.ts'
import { findDeviceToken } from '../identity/device/device-authorization.ts'
import type { DeviceTokens } from '../identity/device/device-tokens.ts'
import type { LastSeen } from './last-seen.ts'
import { createDeviceSessions, type DeviceSession } from './device-sessions.ts'
import { createAssignments, type AskedAssignment } from './assignments.ts'
import { startOfKept } from './publication/renewal.ts'
import { createLruCache } from '../platform/lru-cache.ts'
import { viewRefOf } from './assigned-view.ts'
import type { ViewRef } from './inspect-view.ts'
import { rememberOpenedKeys } from './keys/role-key.ts'
import { packBundle } from './pack-bundle.ts'
import { createUpdates, joinUpdate, type Held } from './pack-update.ts'
import { ensureViewSecret } from './content/view-id.ts'
import { createViewPublisher, type ServedTimestamp } from './publication/view-publisher.ts'

const MAX_FILE_BYTES = 64 * 1024 * 1024

/** Where a request says that a file is. */
export interface Requested {
  readonly org: string
  readonly view: string
}

/** A request for an update. */
export interface Asked {
  readonly held: Held
  readonly assignment: AskedAssignment
  /** The device needs a timestamp issued after this, in milliseconds since 1970; null for any. */
  readonly issuedAfterMs: number | null
  readonly hasTag: (etag: string) => boolean
}

export interface DeviceIdentity {
  readonly org: string
  readonly deviceId: string
  readonly user: string | null
  /** The version of the newest assignment that was kept; 0 before the first. */
  readonly assignmentVersion: number
  /** When its token ends. */
  readonly expiresMs: number
}

/** The answer to a poll. */
export interface ServedPoll extends ServedTimestamp {
  /** Whether the machine needs the body though it has the tag: it lacks an assignment. */
  readonly isBehind: boolean
}

/** Everything throws ApiError 401 or 403 for the device, and 404 for a view that is not its own. */
export interface ViewService {
  /** The device that calls, for responses beside the views. */
  identify(authorizationHeader: string | undefined): Promise<DeviceIdentity>
  /**
   * The revision that a machine of a user in exactly these teams has once it has all that is there,
   * and no rollout holds it back.
   * Throws ApiError 403 for more policies than a view may have.
   */
  revisionOf(org: string, teams: readonly string[]): Promise<number>
  /**
   * The current view of the device, signed. It follows from the teams of its user and a rollout,
   * not from the view that the device asks for. Throws ApiError 409 when it has changed meanwhile.
   */
  assign(authorizationHeader: string | undefined, asked: AskedAssignment): Promise<DeviceView>
  /**
   * The timestamp without a read of the store, for a device admitted since the last commit. Null
   * for every other caller, also for one to be refused.
   */
  known(
    authorizationHeader: string | undefined,
    requested: Requested,
    heldVersion: number | null,
  ): ServedPoll | null
  /** `heldVersion` is that of the assignment that the machine has; null when it does not say. */
  timestamp(
    authorizationHeader: string | undefined,
    requested: Requested,
    heldVersion: number | null,
  ): Promise<ServedPoll>
  /**
   * All that the device lacks, as JSON, with the entity tag of the timestamp in it; `body` is null
   * when it has that one, the view is still its own and there is no later assignment. Throws
   * ApiError 409 when somebody has changed policies or the device's view meanwhile.
   */
  update(
    authorizationHeader: string | undefined,
    asked: Asked,
  ): Promise<{ readonly etag: string; readonly body: string | null }>
  /**
   * `3.root.json`, `3.snapshot.json`, `3.targets.json`; 404 for a file that never existed or is
   * gone.
   */
  metadata(
    authorizationHeader: string | undefined,
    requested: Requested,
    name: string,
  ): Promise<Uint8Array>
  /** A policy document of the view by its path, `policies/{sha256}.{id}.json`. */
  document(
    authorizationHeader: string | undefined,
    requested: Requested,
    path: string,
  ): Promise<Uint8Array>
  /** For administrators of a device that cannot reach this server. See `packBundle`. */
  bundle(
    device: { readonly org: string; readonly deviceId: string },
    work: Pick<Work, 'turn'>,
  ): Promise<Buffer>
  /** Something was committed here by these organizations. */
  changed(orgs: readonly string[]): void
  close(): Promise<void>
}

export interface ViewServiceDeps {
  readonly store: Store
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly tokens: Pick<DeviceTokens, 'read'>
  /** Told of every device that asks for a timestamp. */
  readonly lastSeen: Pick<LastSeen, 'record'>
}

export function createViewService(deps: ViewServiceDeps): ViewService {
  const { store, now, random } = deps
  const openKey = rememberOpenedKeys()
  const publisher = createViewPublisher({ store, now, openKey })
  const sessions = createDeviceSessions(deps)
  const assignTo = createAssignments({ store, now, openKey })
  const updates = createUpdates({ store, now })
  const files = createLruCache<Uint8Array>(MAX_FILE_BYTES, (body) => body.byteLength)

  async function enter(
    authorizationHeader: string | undefined,
    requested: Requested,
  ): Promise<DeviceSession> {
    const device = await sessions.admit(authorizationHeader)
    if (!isOwn(device.viewRef, requested)) throw notFound('view not found')
    return device
  }

  /** A file with a version or a hash in its name never changes, so it may be cached. */
  async function readFile(
    key: string,
    find: () => Promise<Uint8Array | null>,
  ): Promise<Uint8Array> {
    const known = files.find(key)
    if (known !== null) return known
    const body = await find()
    if (body === null) throw notFound('file not found')
    files.keep(key, body)
    return body
  }

  return {
    changed: (orgs) => publisher.changed(orgs),
    close: () => publisher.close(),

    async revisionOf(org, teams) {
      const secret = await ensureViewSecret(store, org, random)
      return publisher.revision(viewRefOf(secret, org, { teams, base: null }))
    },

    async identify(authorizationHeader) {
      const { deviceId, user, viewRef, expiresMs, assignment } =
        await sessions.admit(authorizationHeader)
      const assignmentVersion = assignment?.version ?? 0
      return { org: viewRef.org, deviceId, user, assignmentVersion, expiresMs }
    },

    async assign(authorizationHeader, asked) {
      return assignTo(await sessions.admit(authorizationHeader), asked)
    },

    bundle: (device, work) =>
      packBundle({ store, now, random, publisher, assign: assignTo }, device, work),

    known(authorizationHeader, requested, heldVersion) {
      const token = findDeviceToken(authorizationHeader)
      const device = token === null ? null : sessions.find(token)
      if (device === null || !isOwn(device.viewRef, requested)) return null
      const timestamp = publisher.known(device.viewRef)
      if (timestamp === null) return null
      deps.lastSeen.record(device.deviceId, now().getTime())
      return { ...timestamp, isBehind: isBehind(device, heldVersion) }
    },

    async timestamp(authorizationHeader, requested, heldVersion) {
      const device = await enter(authorizationHeader, requested)
      const timestamp = await publisher.current(device.viewRef)
      deps.lastSeen.record(device.deviceId, now().getTime())
      return { ...timestamp, isBehind: isBehind(device, heldVersion) }
    },

    async update(authorizationHeader, { held, assignment: asked, issuedAfterMs, hasTag }) {
      const device = await sessions.admit(authorizationHeader)
      const { deviceId, viewRef } = device
      const timestamp =
        issuedAfterMs === null
          ? await publisher.current(viewRef)
          : await publisher.renewed(viewRef, issuedAfterMs)
      deps.lastSeen.record(deviceId, now().getTime())
      const { etag } = timestamp
      const isCurrent = held.view === viewRef.id && !isBehind(device, asked.heldVersion || null)
      if (isCurrent && hasTag(etag)) return { etag, body: null }
      const missing = await updates.files(viewRef, timestamp, held)
      return { etag, body: joinUpdate(await assignTo(device, asked), missing) }
    },

    async metadata(authorizationHeader, requested, name) {
      const { org, id } = (await enter(authorizationHeader, requested)).viewRef
      const version = /^([1-9]\d{0,14})\.root\.json$/.exec(name)?.[1]
      return readFile(`${org}/${id}/${name}`, () =>
        store.read(async (reader) =>
          version === undefined
            ? reader.views.file(org, id, name, startOfKept(now()))
            : ((await reader.trust.root(org, Number(version)))?.body ?? null),
        ),
      )
    },

    async document(authorizationHeader, requested, path) {
      const { org, id } = (await enter(authorizationHeader, requested)).viewRef
      return readFile(`${org}/${id}/${path}`, () =>
        store.read((reader) => reader.views.document(org, id, path, startOfKept(now()))),
      )
    },
  }
}

/** Versions in the future, which `isGood` ignores, are never behind either. */
function isBehind({ assignment }: DeviceSession, heldVersion: number | null): boolean {
  return heldVersion !== null && assignment !== null && assignment.version > heldVersion
}

/** Letter for letter: another spelling of a name is another name. */
function isOwn(viewRef: ViewRef, requested: Requested): boolean {
  return requested.org === viewRef.org && requested.view === viewRef.id
}
