import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Store, StoreWriter } from '../../../server/src/store/store.ts'
import { signingKey } from './credential-records.ts'
import type { OpenStore } from './open-again.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'

const POLICY = { id: 'pol_1', org: 'acme', name: 'p', teams: [], created_at: NOW, updated_at: NOW }
const REPORT = {
  device_id: 'd0',
  reported_at: NOW,
  revision: 1,
  state: 'fresh',
  error_code: null,
  error_detail: null,
  grant_id: null,
  grant_begun_at: null,
  proxy_enforcement: null,
  assurance: null,
  policy_digest: null,
  agent_version: '0.1.0',
} as const
const KEPT = {
  scope: 's',
  caller: 'user:ann',
  body_hash: 'h',
  status: 201,
  headers: {},
  body: '{}',
  expires_at: LATER,
}
const TEAM = '99999999-9999-4999-8999-999999999999'

function device(id: string) {
  const times = { created_at: NOW, revoked_at: null }
  return {
    id,
    org: 'acme',
    username: null,
    thumbprint: `hash of ${id}`,
    name: null,
    labels: [],
    enrolment_token_id: null,
    ...times,
  }
}

function token(id: string) {
  const fields = { name: id, permissions: [], secret_hash: `hash of ${id}`, parent_id: null }
  const times = { created_at: NOW, expires_at: LATER, revoked_at: null, last_used_at: null }
  const person = {
    kind: 'personal' as const,
    username: 'ann',
    prefix: 'pal_0000',
    created_by: 'operator',
  }
  return { id, ...fields, ...times, ...person }
}

/** Guarantees of every driver for `generation`; `store` holds the seed of `describeStore`. */
export function describeGeneration(store: () => Store, open: () => OpenStore): void {
  describe('the generation', () => {
    const rename = (writer: StoreWriter) =>
      writer.organizations.updateSettings('acme', { resolve_unlisted_names: true })

    it('stays without a commit', async () => {
      const before = store().generation()
      await store().read((reader) => reader.organizations.count())
      await nextTurn()

      expect(store().generation()).toBe(before)
    })

    it('differs at once after a commit of its own', async () => {
      const seen = [store().generation()]
      for (let round = 0; round < 3; round += 1) {
        await store().transaction(rename)
        seen.push(store().generation())
      }

      expect(new Set(seen).size).toBe(4)
    })

    it('differs after a commit through another opening, also during a read', async () => {
      const other = await open()()
      onTestFinished(() => other.close())
      const before = store().generation()

      await store().read(async (reader) => {
        await reader.organizations.count()
        await other.transaction(rename)
        await expect.poll(() => store().generation(), { timeout: 300_000 }).not.toBe(before)
      })

      expect(store().generation()).not.toBe(before)
    })

    it('stays after a failed transaction', async () => {
      const before = store().generation()
      const attempt = store().transaction(async (writer) => {
        await rename(writer)
        throw new Error('stop')
      })
      await attempt.catch(() => undefined)
      await nextTurn()

      expect(store().generation()).toBe(before)
    })

    it('is never the old one while a commit is in progress', async () => {
      const before = store().generation()
      const written = Promise.withResolvers<void>()
      const mayCommit = Promise.withResolvers<void>()
      const running = store().transaction(async (writer) => {
        await rename(writer)
        written.resolve()
        await mayCommit.promise
      })
      await written.promise
      expect(store().generation()).toBe(before)
      mayCommit.resolve()
      await running

      expect(store().generation()).not.toBe(before)
    })

    it('is refused by a closed store', async () => {
      await store().close()
      await nextTurn()

      expect(() => store().generation()).toThrow(
        expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }),
      )
    })

    it.each<[string, (writer: StoreWriter) => Promise<unknown>]>([
      [
        'a user',
        (writer) => writer.users.insert({ username: 'dan', password_hash: null, created_at: NOW }),
      ],
      ['a password', (writer) => writer.users.updatePassword('ann', 'hash')],
      ['a token', (writer) => writer.accessTokens.insert(token('t1'))],
      ['a revocation', (writer) => writer.accessTokens.revoke('t0', NOW)],
      ['a key', (writer) => writer.signingKeys.insert(signingKey('k1'))],
      ['a retired key', (writer) => writer.signingKeys.retire('k0', NOW)],
      ['a device', (writer) => writer.devices.insert(device('d1'))],
      ['a revoked device', (writer) => writer.devices.revoke('d0', NOW)],
      ['a team of a user', (writer) => writer.teams.addMember('acme', TEAM, 'ann')],
    ])('of accounts differs after the write of %s, even among others', async (_what, write) => {
      await store().transaction(async (writer) => {
        await writer.accessTokens.insert(token('t0'))
        await writer.signingKeys.insert(signingKey('k0'))
        await writer.devices.insert(device('d0'))
        await writer.teams.insert({ id: TEAM, org: 'acme', name: 'generation' })
      })
      const before = store().generation('accounts')
      const all = store().generation()

      await Promise.all([
        store().transaction((writer) => writer.policies.insert(POLICY)),
        store().transaction(write),
        store().transaction((writer) => writer.accessTokens.touch('t0', NOW)),
      ])

      expect(store().generation('accounts')).not.toBe(before)
      expect(store().generation()).not.toBe(all)
    })

    it('of accounts differs after a commit through another opening', async () => {
      const other = await open()()
      onTestFinished(() => other.close())
      const before = store().generation('accounts')

      await other.transaction((writer) => writer.users.updatePassword('ann', 'hash'))

      await expect.poll(() => store().generation('accounts'), { timeout: 300_000 }).not.toBe(before)
    })

    it('of all data differs after the write of a policy', async () => {
      const before = store().generation()

      await store().transaction((writer) => writer.policies.insert(POLICY))

      expect(store().generation()).not.toBe(before)
    })

    it('stays when only progress was noted', async () => {
      await store().transaction(async (writer) => {
        await writer.accessTokens.insert(token('t0'))
        await writer.devices.insert(device('d0'))
      })
      await nextTurn()
      const before = store().generation()

      await store().transaction(async (writer) => {
        await writer.accessTokens.touch('t0', NOW)
        await writer.devicePolls.record('d0', NOW)
        await writer.deviceReports.put([REPORT])
        await writer.deviceAssignments.put([{ device_id: 'd0', view_id: 'a', version: 1 }])
        await writer.idempotency.put(KEPT)
        await writer.idempotency.put({ ...KEPT, scope: 'expired', expires_at: NOW })
        await writer.idempotency.deleteExpired(NOW, { answers: 9, bytes: 999 })
      })
      await nextTurn()

      expect(store().generation()).toBe(before)
      const tokens = await store().read((reader) => reader.accessTokens.listOfUser('ann'))
      expect(tokens.map(({ last_used_at }) => last_used_at)).toEqual([NOW])
    })
  })
}
