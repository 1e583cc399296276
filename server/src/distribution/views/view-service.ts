import type { Bundle, DeviceView } from '@palisade/protocol'
import { notFound } from '../../http/api-error.ts'
import type { Store, StoreWriter } from '../../store/store.ts'
import { authenticateDevice } from '../authenticate-device.ts'
import { findDeviceToken, parseDeviceToken } from '../proof/device-authorization.ts'
import type { DeviceTokens } from '../proof/device-tokens.ts'
import type { LastSeen } from '../last-seen.ts'
import { startOfKept } from './due.ts'
import { createRecent } from './recent.ts'
import { placeDevice, placeOf, readWhereabouts } from './device-place.ts'
import type { ViewPlace } from './inspect-view.ts'
import { rememberOpenedKeys } from './opened-keys.ts'
import type { RoleKey } from './role-key.ts'
import { packBundle } from './pack-bundle.ts'
import { createUpdates, joinUpdate, type Held } from './pack-update.ts'
import { signDeviceView } from './sign-device-view.ts'
import { ensureTrust } from './trust.ts'
import { ensureViewSecret } from './view-id.ts'
import { createViewPublisher, type ServedTimestamp } from './view-publisher.ts'

/** Half of them are remembered even while others come in turns: a fleet of 100,000 with some to spare. */
const MAX_DEVICES = 250_000
const MAX_FILE_BYTES = 64 * 1024 * 1024

/** Where a request says that a file is. */
export interface Requested {
  readonly org: string
  readonly view: string
}

export interface DeviceIdentity {
  readonly org: string
  readonly deviceId: string
  /** When its token ends. */
  readonly expiresMs: number
}

/** Everything throws ApiError 401 or 403 for the device, and 404 for a view that is not its own. */
export interface ViewService {
  /** Which device asks, for what is answered beside the views. */
  identify(authorizationHeader: string | undefined): Promise<DeviceIdentity>
  /**
   * The revision that a machine of a user in exactly these teams has once it has all that is there,
   * and no rollout holds it back.
   * Throws ApiError 403 for more policies than a view may have.
   */
  revisionOf(org: string, teams: readonly string[]): Promise<number>
  /** The view of the device, now: by the teams of its user and a rollout, whatever it asks for. Signed. */
  assign(authorizationHeader: string | undefined): Promise<DeviceView>
  /**
   * The timestamp without asking the store, for a device admitted since the last commit; null for
   * every other caller, also for one who is to be refused.
   */
  known(authorizationHeader: string | undefined, requested: Requested): ServedTimestamp | null
  timestamp(authorizationHeader: string | undefined, requested: Requested): Promise<ServedTimestamp>
  /**
   * All that the device lacks, as JSON, with the entity tag of the timestamp in it; `body` is null
   * when it has that one and the view is still its own. Throws ApiError 409 when somebody has changed
   * policies meanwhile.
   */
  update(
    authorizationHeader: string | undefined,
    held: Held,
    hasTag: (etag: string) => boolean,
  ): Promise<{ readonly etag: string; readonly body: string | null }>
  /** `3.root.json`, `3.snapshot.json`, `3.targets.json`; 404 for what is not there, or no more. */
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
  /** For whoever administers the device, which does not reach this server. See `packBundle`. */
  bundle(org: string, deviceId: string): Promise<Bundle>
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

interface Admitted {
  /** `Store.generation` of accounts, from before the store was asked. */
  readonly generation: number
  /** Of the device token. */
  readonly expiresMs: number
  readonly deviceId: string
  readonly user: string | null
  readonly place: ViewPlace
}

export function createViewService(deps: ViewServiceDeps): ViewService {
  const { store, now } = deps
  const openKey = rememberOpenedKeys()
  const makeKey = (org: string): Promise<RoleKey> =>
    store.transaction((writer) => makeTargetsKey(writer, org, now()))
  const publisher = createViewPublisher({ store, now, openKey })
  const { findAdmitted, admit } = createAdmissions(deps)
  const updates = createUpdates({ store, now })
  const files = createRecent<Uint8Array>(MAX_FILE_BYTES, (body) => body.byteLength)

  async function enter(
    authorizationHeader: string | undefined,
    requested: Requested,
  ): Promise<Admitted> {
    const device = await admit(authorizationHeader)
    if (!isOwn(device.place, requested)) throw notFound('view not found')
    return device
  }

  async function assignTo(
    deviceId: string,
    user: string | null,
    place: ViewPlace,
  ): Promise<DeviceView> {
    const { keys, distribution } = await store.read(async (reader) => ({
      keys: await reader.trust.keys(place.org),
      distribution: await reader.organizations.distribution(place.org),
    }))
    const known = keys.find(({ role }) => role === 'targets')
    const key = known === undefined ? await makeKey(place.org) : openKey(known)
    const content = { org: place.org, device_id: deviceId, user, view: place.id }
    return signDeviceView(content, key, now(), distribution.fresh_for_seconds * 1000)
  }

  /** What has a version or a hash in its name never changes, so it may be remembered. */
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
      const secret = await ensureViewSecret(store, org, deps.random)
      return publisher.revision(placeOf(secret, org, { teams, base: null }))
    },

    async identify(authorizationHeader) {
      const { deviceId, place, expiresMs } = await admit(authorizationHeader)
      return { org: place.org, deviceId, expiresMs }
    },

    async assign(authorizationHeader) {
      const { deviceId, user, place } = await admit(authorizationHeader)
      return assignTo(deviceId, user, place)
    },

    bundle: (org, deviceId) => packBundle({ ...deps, publisher, assign: assignTo }, org, deviceId),

    known(authorizationHeader, requested) {
      const token = findDeviceToken(authorizationHeader)
      const device = token === null ? null : findAdmitted(token)
      if (device === null || !isOwn(device.place, requested)) return null
      const timestamp = publisher.known(device.place)
      if (timestamp !== null) deps.lastSeen.record(device.deviceId, now().getTime())
      return timestamp
    },

    async timestamp(authorizationHeader, requested) {
      const device = await enter(authorizationHeader, requested)
      const timestamp = await publisher.current(device.place)
      deps.lastSeen.record(device.deviceId, now().getTime())
      return timestamp
    },

    async update(authorizationHeader, held, hasTag) {
      const { deviceId, user, place } = await admit(authorizationHeader)
      const timestamp = await publisher.current(place)
      deps.lastSeen.record(deviceId, now().getTime())
      const { etag } = timestamp
      if (held.view === place.id && hasTag(etag)) return { etag, body: null }
      const missing = await updates.files(place, timestamp, held)
      return { etag, body: joinUpdate(await assignTo(deviceId, user, place), missing) }
    },

    async metadata(authorizationHeader, requested, name) {
      const { org, id } = (await enter(authorizationHeader, requested)).place
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
      const { org, id } = (await enter(authorizationHeader, requested)).place
      return readFile(`${org}/${id}/${path}`, () =>
        store.read((reader) => reader.views.document(org, id, path, startOfKept(now()))),
      )
    },
  }
}

/**
 * Devices by their tokens: asked of the store once, and again after whatever may have changed it.
 *
 * By the text of a token, not its hash, which took a twentieth of a poll. A `Map` compares two texts only
 * when their hashes by a seed of this process are equal, so time tells nobody a part of a token; and
 * whoever reads this memory reads the key that makes them.
 */
function createAdmissions(deps: ViewServiceDeps) {
  const { store, now } = deps
  const devices = createRecent<Admitted>(MAX_DEVICES, () => 1)

  function findAdmitted(token: string): Admitted | null {
    const device = devices.find(token)
    if (device?.generation !== store.generation('accounts')) return null
    return device.expiresMs > now().getTime() ? device : null
  }

  async function admit(authorizationHeader: string | undefined): Promise<Admitted> {
    const token = parseDeviceToken(authorizationHeader)
    const known = findAdmitted(token)
    if (known !== null) return known
    const generation = store.generation('accounts')
    const { device, expiresMs, whereabouts } = await store.read(async (reader) => {
      const authenticated = await authenticateDevice(reader, deps.tokens, token)
      return { ...authenticated, whereabouts: await readWhereabouts(reader, authenticated.device) }
    })
    const { id: deviceId, username: user } = device
    const place = await placeDevice(deps, whereabouts)
    const admitted = { generation, expiresMs, deviceId, user, place }
    devices.keep(copyOf(token), admitted)
    return admitted
  }

  return { findAdmitted, admit }
}

/** A part of a header keeps all of it. */
function copyOf(token: string): string {
  return Buffer.from(token).toString()
}

async function makeTargetsKey(writer: StoreWriter, org: string, now: Date): Promise<RoleKey> {
  return (await ensureTrust(writer, org, now)).keys.targets
}

/** Letter for letter: another spelling of a name is another name. */
function isOwn(place: ViewPlace, requested: Requested): boolean {
  return requested.org === place.org && requested.view === place.id
}
