import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openSqliteStore } from '@palisade/server'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  createBundleService,
  type BundleService,
} from '../../../server/src/distribution/bundle-service.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { createSecretToken, hashSecretToken } from '../../../server/src/tokens/secret-token.ts'
import { ensureSigningKeys } from '../../../server/src/tokens/signing-keys.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const HOUR_MS = 60 * 60 * 1000
const always = () => true
const never = () => false

describe('the bundle service', () => {
  let path: string
  let store: Store
  let bundles: BundleService
  let nowMs: number
  let token: string
  let polls: [string, number][]

  const open = (): Store => {
    const opened = openSqliteStore(path)
    onTestFinished(() => opened.close())
    return opened
  }
  const enrol = (id: string, username: string | null): Promise<string> =>
    store.transaction(async (writer) => {
      const created = createSecretToken('device', randomBytes)
      const token_hash = hashSecretToken(created)
      const device = { id, org: 'acme', username, token_hash, created_at: NOW, revoked_at: null }
      await writer.devices.insert(device)
      return `Bearer ${created}`
    })

  beforeEach(async () => {
    nowMs = Date.parse(NOW)
    polls = []
    path = join(temporaryDirectory(), 'server.db')
    store = open()
    await store.transaction(async (writer) => {
      await writer.organizations.insert({
        name: 'acme',
        entitled: true,
        resolve_unlisted_names: false,
        created_at: NOW,
      })
      await writer.users.insert({ username: 'bob', password_hash: null, created_at: NOW })
      await writer.memberships.insert({ org: 'acme', username: 'bob', role: 'member' })
    })
    token = await enrol('d1', 'bob')
    const now = () => new Date(nowMs)
    const keys = await ensureSigningKeys(store, 'bundle', now)
    bundles = await createBundleService({
      store,
      keys,
      now,
      lastSeen: { record: (deviceId, atMs) => void polls.push([deviceId, atMs]) },
    })
  })

  it('knows a bundle after it was fetched, and gives the same bytes', async () => {
    expect(bundles.known(token)).toBeNull()

    const fetched = await bundles.fetch(token, always)

    expect(bundles.known(token)?.etag).toBe(fetched.etag)
    expect(bundles.known(token)?.body()).toBe(fetched.body)
  })

  it.each<[string, (other: Store) => Promise<unknown>]>([
    [
      'the device is revoked',
      (other) => other.transaction((writer) => writer.devices.revoke('d1', NOW)),
    ],
    [
      'its user has left',
      (other) => other.transaction((writer) => writer.memberships.delete('acme', 'bob')),
    ],
  ])('refuses at the next request once %s, by this process', async (_name, change) => {
    await bundles.fetch(token, always)

    await change(store)

    expect(bundles.known(token)).toBeNull()
    await expect(bundles.fetch(token, always)).rejects.toMatchObject({ status: 401 })
    expect(bundles.known(token)).toBeNull()
  })

  it('refuses what another process has revoked', async () => {
    await bundles.fetch(token, always)
    expect(bundles.known(token)).not.toBeNull()

    await open().transaction((writer) => writer.devices.revoke('d1', NOW))
    await nextTurn()

    expect(bundles.known(token)).toBeNull()
    await expect(bundles.fetch(token, always)).rejects.toMatchObject({ status: 401 })
  })

  it('does not keep an admission that a commit overtook', async () => {
    const fetching = bundles.fetch(token, always)
    await store.transaction((writer) => writer.devices.revoke('d1', NOW))
    await fetching.catch(() => undefined)

    expect(bundles.known(token)).toBeNull()
  })

  it('keeps nothing for a token that is not admitted', async () => {
    const stranger = `Bearer ${createSecretToken('device', randomBytes)}`

    await expect(bundles.fetch(stranger, always)).rejects.toMatchObject({ status: 401 })

    expect(bundles.known(stranger)).toBeNull()
    expect(() => bundles.known('Basic x')).toThrow(expect.objectContaining({ status: 401 }))
  })

  it('asks again after every commit, and has the same bundle when nothing of it changed', async () => {
    const { etag, body } = await bundles.fetch(token, always)
    await enrol('d2', null)

    expect(bundles.known(token)).toBeNull()
    expect(await bundles.fetch(token, never)).toEqual({ etag, body: null })
    expect(await bundles.fetch(token, always)).toEqual({ etag, body })
  })

  it('has another bundle in another revision', async () => {
    const { etag } = await bundles.fetch(token, always)
    await store.transaction((writer) =>
      writer.organizations.updateSettings('acme', { resolve_unlisted_names: true }),
    )

    expect((await bundles.fetch(token, never)).etag).not.toBe(etag)
  })

  it('knows a bundle within its hour only, whichever way the clock goes', async () => {
    await bundles.fetch(token, always)

    for (const ms of [HOUR_MS, -HOUR_MS]) {
      nowMs = Date.parse(NOW) + ms
      expect(bundles.known(token)).toBeNull()
    }
    nowMs = Date.parse(NOW)
    expect(bundles.known(token)).not.toBeNull()
  })

  it('tells of every poll of a device that was let in, and of no other', async () => {
    const stranger = `Bearer ${createSecretToken('device', randomBytes)}`
    await expect(bundles.fetch(stranger, always)).rejects.toMatchObject({ status: 401 })
    await bundles.fetch(token, always)
    nowMs += 1000
    bundles.known(token)

    expect(polls).toEqual([
      ['d1', Date.parse(NOW)],
      ['d1', Date.parse(NOW) + 1000],
    ])
  })

  it('gives each device its own bundle', async () => {
    const other = await enrol('d2', null)
    const [first, second] = [await bundles.fetch(token, always), await bundles.fetch(other, always)]

    expect(bundles.known(token)?.etag).toBe(first.etag)
    expect(bundles.known(other)?.etag).toBe(second.etag)
    expect(first.etag).not.toBe(second.etag)
  })
})
