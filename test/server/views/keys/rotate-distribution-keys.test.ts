import { randomBytes, randomUUID } from 'node:crypto'
import { createDeviceKey, createProver, thumbprintOf, type Prove } from '@palisade/client'
import { UPDATE_PATH, type Bundle, type DeviceView, type Enrolment } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDeviceAccess } from '../../../../agent/src/sync/transport/device-access.ts'
import { createStateStore } from '../../../../agent/src/sync/state/state-store.ts'
import {
  createSynchronizer,
  type Synchronizer,
} from '../../../../agent/src/sync/update/synchronizer.ts'
import { createViewChannel } from '../../../../agent/src/sync/update/view-channel.ts'
import { createFileFetcher } from '../../../../agent/src/sync/transport/fetch-file.ts'
import { enrolDevice } from '../../../../server/src/fleet/enrolment/enrol-device.ts'
import { readKeyStatus } from '../../../../server/src/views/keys/key-status.ts'
import { sha256 } from '../../../../server/src/views/keys/metadata.ts'
import {
  createDistributionKey,
  openRoleKey,
  type RoleKey,
} from '../../../../server/src/views/keys/role-key.ts'
import {
  rotateDistributionKeys,
  type RotationRequest,
} from '../../../../server/src/views/keys/rotate-distribution-keys.ts'
import { signAllViews } from '../../../../server/src/views/publication/sign-all-views.ts'
import { signDeviceView } from '../../../../server/src/views/assignments.ts'
import {
  signSnapshot,
  signTargets,
  signTimestamp,
} from '../../../../server/src/views/publication/sign-view.ts'
import { formatListing } from '../../../../server/src/views/content/targets-text.ts'
import { findKey } from '../../../../server/src/views/keys/trust.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import type { DistributionKeyRecord } from '../../../../server/src/store/distribution-records.ts'
import { activePolicy } from '../../../agent/fixture/active-policy.ts'
import { packBundle } from '../../../agent/fixture/pack-bundle.ts'
import { temporaryDirectory } from '../../../agent/fixture/temporary-directory.ts'
import { freshName } from '../../fresh-name.ts'
import { fetchDeviceToken } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const YEAR_MS = 365 * DAY_MS
const NO_ONE = new AbortController().signal
const OUTSIDE = { action: 'read', path: '/etc/passwd' }
const inside = (name: string) => ({ action: 'read', path: `/${name}/x` })
/** A high version that a machine still accepts. */
const HIGH = 2 ** 47

describe('a key rotation, as seen by a running agent,', () => {
  let shared: TestServer
  let url: string
  let test: TestServer
  let org: string
  let nowMs: number
  let enrolment: Enrolment
  let prove: Prove
  let synchronizer: Synchronizer
  let decide: (request: { action: string; path: string }) => string
  /** Answers of an attacker instead of the server, by path. */
  let forged: ReadonlyMap<string, Uint8Array>
  let setMachineClock: (ms: number) => void

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    shared = await openTestServer(atEnd)
    url = await listen(shared)
  })
  beforeEach(() => open(shared, url))

  const listen = (of: TestServer) => of.server.app.listen({ host: '127.0.0.1', port: 0 })

  async function open(opened: TestServer, server: string): Promise<void> {
    test = opened
    org = freshName('acme')
    nowMs = test.now()
    // tuf-js reads the global clock.
    vi.useFakeTimers({ toFake: ['Date'], now: nowMs })
    onTestFinished(() => void vi.useRealTimers())
    forged = new Map()
    const key = createDeviceKey()
    enrolment = await test.store.transaction(async (writer) => {
      const created_at = new Date(nowMs).toISOString()
      const settings = { entitled: true, resolve_unlisted_names: false, created_at }
      await writer.organizations.insert({ name: org, ...settings })
      const deps = { now: () => new Date(nowMs), newId: randomUUID, random: randomBytes }
      const device = { org, user: null, name: null, labels: [], enrolment_token_id: null }
      return enrolDevice(deps, writer, { ...device, thumbprint: thumbprintOf(key) }, { server })
    })
    const { active, surroundings, clock: trusted } = activePolicy()
    setMachineClock = (ms) => {
      surroundings.nowMs = ms
    }
    setMachineClock(nowMs)
    const clock = (): number => surroundings.nowMs
    prove = createProver(key, clock)
    const wire = { fetch: fetchThroughThief, server, prove, timeoutMs: 5_000 }
    const access = createDeviceAccess({ ...wire, clock, random: () => 0.5 })
    const channel = createViewChannel({
      enrolment,
      store: createStateStore(await temporaryDirectory()),
      fetchFile: createFileFetcher({ ...wire, access }),
      clock: trusted,
    })
    synchronizer = createSynchronizer({
      active,
      channel,
      checkConflict: async () => {},
      org,
      clock,
    })
    await synchronizer.restore()
    decide = (request) => active.decide(request).decision
    await allow('data')
    await expectEnforced('data')
  }

  const fetchThroughThief: typeof fetch = async (input, init) => {
    const { pathname } = new URL(new Request(input).url)
    if (forged.size === 0) return fetch(input, init)
    const headers = { 'content-type': 'application/json' }
    if (pathname === UPDATE_PATH)
      return new Response(await packForged(await fetch(input, init)), { headers })
    const body = forged.get(pathname)
    return body === undefined ? fetch(input, init) : new Response(Buffer.from(body), { headers })
  }

  /** Serves roots of the server, and all other files of the attacker. */
  async function packForged(answer: Response): Promise<string> {
    const served = new Map([...forged].map(([path, body]) => [path, Buffer.from(body).toString()]))
    if (answer.status !== 200) return packBundle(served).toString()
    const { files } = (await answer.json()) as Bundle
    const roots = Object.entries(files).filter(([name]) => name.endsWith('.root.json'))
    return packBundle(served, (bundle) => ({
      ...bundle,
      files: { ...Object.fromEntries(roots), ...bundle.files },
    })).toString()
  }

  /** Adds a policy that allows reading `/{name}`. */
  async function allow(name: string): Promise<void> {
    const at = new Date(nowMs).toISOString()
    await test.store.transaction(async (writer) => {
      const policy = { id: `pol_${name}${org.replace('-', '')}`, org, name, teams: [] }
      await writer.policies.insert({ ...policy, created_at: at, updated_at: at })
      await writer.policies.insertRule(
        { org, policyId: policy.id, updated_at: at },
        {
          id: `rule_${name}${org.replace('-', '')}`,
          name,
          actions: ['read'],
          decision: 'allow',
          resources: [`/${name}/**`],
        },
      )
    })
  }

  function advance(ms: number): void {
    nowMs += ms
    test.advance(ms)
    vi.setSystemTime(nowMs)
    setMachineClock(nowMs)
  }

  const sync = () => synchronizer.run(NO_ONE)

  async function expectEnforced(name: string): Promise<void> {
    expect(await sync()).toMatchObject({ outcome: 'updated', error: null })
    expect([decide(inside(name)), decide(OUTSIDE)]).toEqual(['allow', 'deny'])
  }

  const readKeys = () => test.store.read((reader) => reader.trust.keys(org))
  async function openKeys(): Promise<Record<'root' | 'targets' | 'online', RoleKey>> {
    const records = await readKeys()
    const open = (role: 'root' | 'targets' | 'online') => openRoleKey(findKey(records, role, org))
    return { root: open('root'), targets: open('targets'), online: open('online') }
  }

  const rotate = (request: Partial<RotationRequest>) =>
    rotateDistributionKeys(
      createAuditedStore({ store: test.store, now: () => new Date(nowMs) }),
      OPERATOR,
      { org, roles: [], rootKey: null, nextRootKey: null, ...request },
      new Date(nowMs),
    )

  /** Signs a policy with stolen keys that allows reading everything. */
  async function forge(
    keys: Pick<Record<'targets' | 'online', RoleKey>, 'targets' | 'online'>,
    version: number,
  ): Promise<void> {
    const body = Buffer.from(
      JSON.stringify({
        id: 'pol_thief',
        org,
        name: 'thief',
        created_at: new Date(nowMs).toISOString(),
        updated_at: new Date(nowMs).toISOString(),
        allowlist_v0: {
          domain: 'filesystem',
          rules: [
            {
              id: 'rule_thief',
              name: 'all',
              actions: ['read'],
              decision: 'allow',
              resources: ['/**'],
            },
          ],
        },
      }),
    )
    const as = { enrolment, prove, token: await fetchDeviceToken(test, prove) }
    const assigned = await test.send('GET', '/api/v1/device/view', { as })
    const { device_id, user, view } = assigned.json<DeviceView>().signed
    const own = { org, device_id, user, view, version: Math.floor(nowMs / 1000) }
    const path = `/api/v1/orgs/${org}/views/${own.view}`
    const signing = { org, view: own.view, version, atMs: nowMs }
    const hash = sha256(body)
    const custom = { mode: 'enforce', revision: 1, schema: 1 }
    const listing = formatListing([{ name: 'policies/pol_thief.json', sha256: hash, body, custom }])
    const settings = {
      expires_after_seconds: 604_800,
      fresh_for_seconds: 86_400,
      poll_seconds: 300,
      resolve_unlisted_names: false,
      revision: 1_000_000,
    }
    const { body: targets } = signTargets({ ...signing, key: keys.targets }, { listing, settings })
    const snapshot = signSnapshot({ ...signing, key: keys.online }, { version, body: targets })
    const timestamp = signTimestamp(
      { ...signing, key: keys.online },
      { version, body: snapshot },
      DAY_MS,
    )
    const assignment = JSON.stringify(signDeviceView(own, keys.targets, new Date(nowMs)))
    forged = new Map<string, Uint8Array>([
      ['/api/v1/device/view', Buffer.from(assignment)],
      [`${path}/metadata/timestamp.json`, timestamp],
      [`${path}/metadata/${version}.snapshot.json`, snapshot],
      [`${path}/metadata/${version}.targets.json`, targets],
      [`${path}/targets/policies/${hash}.pol_thief.json`, body],
    ])
  }

  for (const role of ['targets', 'online', 'root'] as const)
    it(`of ${role} keeps the machine updated and ends the old key`, async () => {
      const former = await openKeys()

      expect(await rotate({ roles: [role] })).toMatchObject({ keys: [{ role }] })

      advance(60_000)
      expect(await sync()).toMatchObject({ error: null })
      await allow(role)
      await expectEnforced(role)
      const current = await openKeys()
      expect(current[role].key.keyID).not.toBe(former[role].key.keyID)
      if (role === 'root') return
      await forge({ ...current, [role]: former[role] }, HIGH)
      expect(await sync()).toMatchObject({ outcome: 'failed', error: { code: 'bad_signature' } })
      expect(decide(OUTSIDE)).toBe('deny')
    })

  it('after a theft ends forged policies and refuses the thief', async () => {
    const stolen = await openKeys()
    await forge(stolen, HIGH)
    // Both keys suffice to impersonate the server until the root is replaced.
    expect(await sync()).toMatchObject({ outcome: 'updated', error: null })
    expect(decide(OUTSIDE)).toBe('allow')
    forged = new Map()
    advance(60_000)
    expect(await sync()).toMatchObject({ outcome: 'failed', error: { code: 'older_version' } })

    await rotate({ roles: ['online', 'targets'] })
    const now = (): Date => new Date(nowMs)
    expect(await signAllViews(test.store, org, now)).toEqual({ signed: 1, refused: [] })

    await expectEnforced('data')
    for (const version of [HIGH, HIGH + 1, 1]) {
      await forge(stolen, version)
      expect(await sync()).toMatchObject({ outcome: 'failed', error: { code: 'bad_signature' } })
      expect(decide(OUTSIDE)).toBe('deny')
    }
    forged = new Map()
    await allow('later')
    await expectEnforced('later')
  })

  it('of online alone recovers from a high version of all three files', async () => {
    await forge(await openKeys(), HIGH)
    expect(await sync()).toMatchObject({ outcome: 'updated', error: null })
    forged = new Map()

    await rotate({ roles: ['online'] })

    advance(60_000)
    await expectEnforced('data')
  })

  it('of all keys at once, including the root, succeeds', async () => {
    await rotate({ roles: ['root', 'targets', 'online'] })

    advance(60_000)
    await allow('more')
    await expectEnforced('more')
    expect(await readKeys()).toHaveLength(3)
  })

  it('of the root succeeds ten times while the machine is offline', async () => {
    for (let time = 0; time < 10; time += 1) await rotate({ roles: ['root'] })

    await allow('more')
    await expectEnforced('more')
  })

  describe('with an exported root key', () => {
    let apart: DistributionKeyRecord
    const statuses = () => test.store.read((reader) => readKeyStatus(reader, org, new Date(nowMs)))

    beforeEach(() => exportRoot())

    async function exportRoot(): Promise<void> {
      apart = findKey(await readKeys(), 'root', org)
      await test.store.transaction((writer) => writer.trust.forgetPrivateKey(org, apart.kid))
    }

    it('continues to publish, and shows when the next root must be signed', async () => {
      expect(await statuses()).toMatchObject([
        { role: 'root', kid: apart.kid, on_server: false, due: 'nothing' },
        { role: 'targets', on_server: true },
        { role: 'online', on_server: true },
      ])

      const expires_at = new Date(nowMs + YEAR_MS).toISOString()
      for (const ms of [HOUR_MS, DAY_MS, 31 * DAY_MS, 160 * DAY_MS]) {
        advance(ms)
        const name = `after${ms}`
        await allow(name)
        await expectEnforced(name)
      }

      expect(await statuses()).toMatchObject([
        { due: 'sign_root', expires_at },
        { due: 'sign_root' },
        { due: 'sign_root' },
      ])
      expect(await test.store.read((reader) => reader.trust.newestRoot(org))).toMatchObject({
        version: 1,
      })
    })

    it('does not write for a poll while the next root is due', async () => {
      // Another test's machines would be written as seen.
      const own = await openTestServer()
      await open(own, await listen(own))
      await exportRoot()
      advance(190 * DAY_MS)
      await sync()
      const generation = test.store.generation()

      for (let poll = 0; poll < 3; poll += 1) await sync()

      expect(test.store.generation()).toBe(generation)
    })

    it('signs the next root only with the key in the file', async () => {
      advance(190 * DAY_MS)
      const other = openRoleKey(createDistributionKey(org, 'root', new Date(nowMs)))

      expect(await rotate({})).toBe('root_key_apart')
      expect(await rotate({ rootKey: other })).toBe('other_root_key')
      expect(await rotate({ rootKey: openRoleKey(apart) })).toMatchObject({ root: { version: 2 } })

      await allow('more')
      await expectEnforced('more')
      expect(await statuses()).toMatchObject([{ due: 'nothing' }, {}, {}])
    })

    it('never stores the next root key on the server', async () => {
      const nextRootKey = createDistributionKey(org, 'root', new Date(nowMs))

      await rotate({ roles: ['root'], rootKey: openRoleKey(apart), nextRootKey })

      await allow('more')
      await expectEnforced('more')
      expect(findKey(await readKeys(), 'root', org)).toEqual({
        ...nextRootKey,
        private_jwk: { kty: 'OKP', crv: 'Ed25519', x: nextRootKey.private_jwk.x },
      })
      expect(await rotate({ roles: ['root'] })).toBe('root_key_apart')
      expect(await rotate({ rootKey: openRoleKey(apart) })).toBe('other_root_key')
    })
  })
})
