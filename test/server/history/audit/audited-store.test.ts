import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { createAuditedWriter } from '../../../../server/src/history/audit/audited-writer.ts'
import { hashEvent } from '../../../../server/src/history/event-hash.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import {
  AT,
  LATER,
  NOW,
  POLICY,
  RULE,
  SECRET,
  TEAM,
  device,
  distributionKey,
  enrolmentToken,
  key,
  token,
  webhook,
} from './audited-records.ts'
import { SETTINGS } from './audited-organization-writes.ts'
import { NOT_AUDITED, RULE_0, cases, type Work } from './audited-writes.ts'

const AUTHOR = { actor: 'user:ann', address: '192.0.2.7', request_id: 'req_7' }

/** `acme` has ann and bob, `rival` has cid and bob; a policy, a rule, a team, tokens, devices. */
async function open() {
  const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
  onTestFinished(() => store.close())
  await store.transaction(async (writer) => {
    for (const name of ['acme', 'rival'])
      await writer.organizations.insert({
        name,
        entitled: true,
        resolve_unlisted_names: false,
        created_at: NOW,
      })
    for (const username of ['ann', 'bob', 'cid', 'dan'])
      await writer.users.insert({ username, password_hash: null, created_at: NOW })
    await writer.memberships.insert({ org: 'acme', username: 'ann', role: 'owner' })
    const owner = { ownsAccount: true }
    await writer.memberships.insert({ org: 'acme', username: 'bob', role: 'editor' }, owner)
    await writer.memberships.insert({ org: 'rival', username: 'bob', role: 'member' }, owner)
    await writer.memberships.insert({ org: 'rival', username: 'cid', role: 'owner' })
    await writer.teams.insert({ id: TEAM, org: 'acme', name: 'backend' })
    await writer.teams.addMember('acme', TEAM, 'bob')
    await writer.policies.insert(POLICY)
    await writer.policies.insertRule(AT, { ...RULE, id: 'rule_0', name: 'zero' })
    await writer.accessTokens.insert(token('t0', { username: 'bob' }))
    await writer.accessTokens.insert(token('t1', { org: 'acme' }, 't0'))
    await writer.devices.insert(device('d0', 'bob'))
    await writer.enrolmentTokens.insert(enrolmentToken('e0'))
    await writer.devices.insert(device('d1', 'bob'))
    await writer.signingKeys.insert(key('k0'))
    await writer.trust.insertKey(distributionKey('dk0'))
    await writer.webhooks.insert(webhook('w0'), 0)
    const invitation = { role: 'member' as const, invited_by: 'user:ann', created_at: NOW }
    await writer.invitations.insert({ ...invitation, org: 'acme', username: 'cid' })
  })
  const audited = createAuditedStore({ store, now: () => new Date(NOW) })
  const history = (org = 'acme') =>
    store.read((reader) =>
      reader.events.list(org, { after: 0, through: Number.MAX_SAFE_INTEGER, limit: 1000 }),
    )
  return { store, audited, history }
}

describe('the audited store', () => {
  it.each(cases)('records the change of $name', async ({ work, expected }) => {
    const { audited, history } = await open()

    await audited.write(AUTHOR, work)

    const events = await history()
    expect(
      events.map(({ kind, subject, before, after }) => [kind, subject, before, after]),
    ).toEqual(expected)
    expect(JSON.stringify(events)).not.toContain(SECRET)
  })

  it('covers every method that writes', async () => {
    const { store } = await open()

    const methods = await store.transaction(async (writer) =>
      store.read(async (reader) => {
        const names = (part: object) => Object.keys(part)
        return Object.entries(writer).flatMap(([section, part]) => {
          const read = names(reader[section as keyof typeof reader])
          return names(part)
            .filter((method) => !read.includes(method))
            .map((method) => `${section}.${method}`)
        })
      }),
    )

    const listed = (lists: Record<string, readonly string[]>) =>
      Object.entries(lists).flatMap(([section, names]) => names.map((name) => `${section}.${name}`))
    expect(methods.toSorted()).toEqual(
      [...cases.map(({ name }) => name), ...listed(NOT_AUDITED), 'events.append'].toSorted(),
    )
  })

  it('records actor, time, address and revision', async () => {
    const { store, audited, history } = await open()

    await audited.write(AUTHOR, async (writer) => {
      await writer.teams.insert({ id: 'x', org: 'acme', name: 'x' })
      await writer.teams.insert({ id: 'y', org: 'acme', name: 'y' })
    })

    const organization = await store.read((reader) => reader.organizations.find('acme'))
    expect(await history()).toEqual(
      [1, 2].map((sequence) =>
        expect.objectContaining({
          ...AUTHOR,
          org: 'acme',
          sequence,
          at: NOW,
          revision: organization?.revision,
        }),
      ),
    )
  })

  it('chains every event to its predecessor', async () => {
    const { audited, history } = await open()
    for (const id of ['x', 'y', 'z'])
      await audited.write(AUTHOR, (writer) => writer.teams.insert({ id, org: 'acme', name: id }))

    const events = await history()

    expect(events.map(({ previous_hash }) => previous_hash)).toEqual([
      '0'.repeat(64),
      events[0]?.hash,
      events[1]?.hash,
    ])
    for (const { hash, ...event } of events) expect(hashEvent(event)).toBe(hash)
  })

  it.each<[string, Work]>([
    ['an unchanged role', (writer) => writer.memberships.updateRole('acme', 'bob', 'editor')],
    ['a team that already has the member', (writer) => writer.teams.addMember('acme', TEAM, 'bob')],
    ['a team without the member', (writer) => writer.teams.removeMember('acme', TEAM, 'ann')],
    ['an unchanged rule', (writer) => writer.policies.updateRule(AT, RULE_0)],
    [
      'an unchanged setting',
      (writer) => writer.organizations.updateSettings('acme', { resolve_unlisted_names: false }),
    ],
    ['a token that does not exist', (writer) => writer.accessTokens.revoke('none', LATER)],
    ['a device that does not exist', (writer) => writer.devices.revoke('none', LATER)],
    ['a secret of the server', (writer) => writer.secrets.insert('s', new Uint8Array(1))],
  ])('records no event for %s', async (_name, work) => {
    const { store, audited, history } = await open()

    await audited.write(AUTHOR, work)

    expect(await history()).toEqual([])
    expect(await store.read((reader) => reader.events.head('acme'))).toBeNull()
  })

  it('lets others run between large events', async () => {
    const { audited, history } = await open()
    const resources = Array.from({ length: 100 }, (_, index) => `${'n'.repeat(3000)}${index}.test`)
    let turns = 0
    const count = (): void => {
      turns += 1
      others = setImmediate(count)
    }
    let others = setImmediate(count)

    await audited.write(AUTHOR, async (writer) => {
      for (let rule = 0; rule < 10; rule += 1)
        await writer.policies.insertRule(AT, {
          ...RULE_0,
          id: `rule_large${rule}`,
          name: `large ${rule}`,
          resources,
        })
    })
    clearImmediate(others)

    expect(turns).toBeGreaterThanOrEqual(9)
    const events = await history()
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    for (const { hash, ...event } of events) expect(hashEvent(event)).toBe(hash)
  })

  it('records nothing of a failed transaction', async () => {
    const { audited, history } = await open()

    const attempt = audited.write(AUTHOR, async (writer) => {
      await writer.teams.insert({ id: 'x', org: 'acme', name: 'x' })
      throw new Error('stop')
    })

    await expect(attempt).rejects.toThrow('stop')
    expect(await history()).toEqual([])
  })

  it('records tokens of an account in all organizations that own it', async () => {
    const { audited, history } = await open()
    const kinds = async (org: string) => (await history(org)).map(({ kind }) => kind)

    await audited.write(AUTHOR, async (writer) => {
      await writer.accessTokens.insert(token('t9', { username: 'bob' }))
      await writer.memberships.delete('acme', 'bob')
      await writer.accessTokens.revoke('t9', LATER)
    })

    expect(await kinds('acme')).toEqual(['access_token.created', 'member.removed'])
    expect(await kinds('rival')).toEqual(['access_token.created', 'access_token.revoked'])
  })

  it('records a signing key in all organizations, and an organization only in itself', async () => {
    const { audited, history } = await open()

    await audited.write(AUTHOR, async (writer) => {
      await writer.organizations.insert({ ...SETTINGS, name: 'third' })
      await writer.signingKeys.insert(key('k9'))
    })

    const kinds = await Promise.all(
      ['acme', 'rival', 'third'].map(async (org) => (await history(org)).map(({ kind }) => kind)),
    )
    expect(kinds).toEqual([
      ['signing_key.created'],
      ['signing_key.created'],
      ['organization.created', 'signing_key.created'],
    ])
  })

  it('chains changes of concurrent writers without a gap or fork', async () => {
    const { audited, history } = await open()

    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        audited.write(AUTHOR, (writer) =>
          writer.teams.insert({ id: `x${index}`, org: 'acme', name: `x${index}` }),
        ),
      ),
    )

    const events = await history()
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1))
    expect(events).toHaveLength(50)
    for (const [index, { previous_hash }] of events.entries())
      expect(previous_hash).toBe(events[index - 1]?.hash ?? '0'.repeat(64))
  })

  it('refuses events written by a service', async () => {
    const { store } = await open()

    const attempt = store.transaction((writer) =>
      createAuditedWriter(writer, { record: async () => {}, noteAnswer: () => {} }).events.append(
        'acme',
        [],
      ),
    )

    await expect(attempt).rejects.toThrow(TypeError)
  })

  it('reports the grown histories after the commit', async () => {
    const { store } = await open()
    const told: (readonly string[])[] = []
    const audited = createAuditedStore({
      store,
      now: () => new Date(NOW),
      onEvents: (orgs) => told.push(orgs),
    })

    await audited.write(AUTHOR, (writer) => writer.teams.addMember('acme', TEAM, 'bob'))
    await audited.write(AUTHOR, (writer) => writer.teams.addMember('acme', TEAM, 'ann'))

    expect(told).toEqual([['acme']])
  })

  it('is the only way to write, except for data without an owner', () => {
    const root = join(import.meta.dirname, '../../../../server/src')
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/^store\/(copy|postgres|sql|sqlite)\//.test(file))
      .filter((file) => /\.transaction\(/.test(readFileSync(join(root, file), 'utf8')))

    expect(files.toSorted()).toEqual([
      // The time of a rollout's evaluation is progress.
      'fleet/rollout/rollout-watch.ts',
      'history/audit/audited-store.ts',
      // Kept answers belong to no organization.
      'identity/idempotency/forget-answers.ts',
      // The last use of a token is not a change.
      'identity/token-use.ts',
      'identity/tokens/ensure-signing-keys.ts',
      'store/ensure-secret.ts',
      // Observes the writes of others.
      'store/store-hooks.ts',
      // Reports of devices and the times of their polls are not changes.
      'store/write-behind.ts',
      // The assignment of a device to a view follows from other changes.
      'views/assignment-versions.ts',
      // Creates the keys of an organization that has none.
      'views/assignments.ts',
      // Inserts documents that are about to be signed.
      'views/publication/insert-documents.ts',
      // Signs changes.
      'views/publication/view-batches.ts',
      'webhooks/deliverer.ts',
    ])
  })
})
