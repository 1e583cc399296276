import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audited-store.ts'
import { createAuditedWriter } from '../../../server/src/history/audited-writer.ts'
import { hashEvent } from '../../../server/src/history/event-hash.ts'
import type { RuleRecord } from '../../../server/src/store/records.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { StoreWriter } from '../../../server/src/store/store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.250Z'
const LATER = '2026-11-22T08:00:00.000Z'
const AUTHOR = { actor: 'user:ann', address: '192.0.2.7', request_id: 'req_7' }
const TEAM = '11111111-1111-4111-8111-111111111111'
const RULE: RuleRecord = {
  id: 'rule_1',
  name: 'web',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['example.com:443'],
}
const AT = { org: 'acme', policyId: 'pol_1', updated_at: LATER }
const POLICY = {
  id: 'pol_1',
  org: 'acme',
  name: 'one',
  teams: [],
  created_at: NOW,
  updated_at: NOW,
}
const SECRET = 'not for the history'

const token = (id: string, owner: { username: string } | { org: string }, parent?: string) => ({
  ...('org' in owner
    ? { kind: 'organization' as const, ...owner }
    : { kind: 'personal' as const, ...owner }),
  id,
  name: `token ${id}`,
  permissions: ['policies:read' as const],
  secret_hash: `${SECRET} ${id}`,
  created_at: NOW,
  expires_at: LATER,
  revoked_at: null,
  parent_id: parent ?? null,
})
const device = (id: string, username: string | null) => ({
  id,
  org: 'acme',
  username,
  token_hash: `${SECRET} ${id}`,
  created_at: NOW,
  revoked_at: null,
})

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
    await writer.memberships.insert({ org: 'acme', username: 'bob', role: 'editor' })
    await writer.memberships.insert({ org: 'rival', username: 'bob', role: 'member' })
    await writer.memberships.insert({ org: 'rival', username: 'cid', role: 'owner' })
    await writer.teams.insert({ id: TEAM, org: 'acme', name: 'backend' })
    await writer.teams.addMember('acme', TEAM, 'bob')
    await writer.policies.insert(POLICY)
    await writer.policies.insertRule(AT, { ...RULE, id: 'rule_0', name: 'zero' })
    await writer.accessTokens.insert(token('t0', { username: 'bob' }))
    await writer.accessTokens.insert(token('t1', { org: 'acme' }, 't0'))
    await writer.devices.insert(device('d0', 'bob'))
    await writer.devices.insert(device('d1', 'bob'))
  })
  const audited = createAuditedStore({ store, now: () => new Date(NOW) })
  const history = (org = 'acme') =>
    store.read((reader) =>
      reader.events.list(org, { after: 0, through: Number.MAX_SAFE_INTEGER, limit: 1000 }),
    )
  return { store, audited, history }
}

type Work = (writer: StoreWriter) => Promise<unknown>
type Expected = [kind: string, subject: object, before: unknown, after: unknown]

const BOB = { username: 'bob', role: 'editor', teams: [TEAM] }
const RULE_0 = { ...RULE, id: 'rule_0', name: 'zero' }
const SHOWN_POLICY = {
  id: 'pol_1',
  name: 'one',
  org: 'acme',
  scope: {},
  created_at: NOW,
  updated_at: LATER,
}
const SHOWN_TOKEN = {
  id: 't0',
  name: 'token t0',
  username: 'bob',
  permissions: ['policies:read'],
  created_at: NOW,
  expires_at: LATER,
}
const { username: _username, ...SHOWN_T1 } = { ...SHOWN_TOKEN, id: 't1', name: 'token t1' }
const SETTINGS = { name: 'acme', entitled: true, resolve_unlisted_names: false, created_at: NOW }
const D0 = { id: 'd0', user: 'bob', created_at: NOW }

/** By section and method, what every write leaves in the history of `acme`. */
const AUDITED: Record<string, Record<string, [Work, Expected[]]>> = {
  organizations: {
    insert: [(writer) => writer.organizations.insert({ ...SETTINGS, name: 'third' }), []],
    updateSettings: [
      (writer) => writer.organizations.updateSettings('acme', { resolve_unlisted_names: true }),
      [
        [
          'organization.updated',
          { id: 'acme', name: 'acme' },
          SETTINGS,
          { ...SETTINGS, resolve_unlisted_names: true },
        ],
      ],
    ],
  },
  users: {
    insert: [
      async (writer) => {
        await writer.users.insert({ username: 'eve', password_hash: SECRET, created_at: NOW })
        await writer.memberships.insert({ org: 'acme', username: 'eve', role: 'member' })
      },
      [
        ['user.created', { id: 'eve', name: 'eve' }, null, { username: 'eve', created_at: NOW }],
        [
          'member.added',
          { id: 'eve', name: 'eve' },
          null,
          { username: 'eve', role: 'member', teams: [] },
        ],
      ],
    ],
  },
  memberships: {
    insert: [
      (writer) => writer.memberships.insert({ org: 'acme', username: 'dan', role: 'auditor' }),
      [
        [
          'member.added',
          { id: 'dan', name: 'dan' },
          null,
          { username: 'dan', role: 'auditor', teams: [] },
        ],
      ],
    ],
    updateRole: [
      (writer) => writer.memberships.updateRole('acme', 'bob', 'owner'),
      [['member.role_changed', { id: 'bob', name: 'bob' }, BOB, { ...BOB, role: 'owner' }]],
    ],
    delete: [
      (writer) => writer.memberships.delete('acme', 'bob'),
      [['member.removed', { id: 'bob', name: 'bob' }, BOB, null]],
    ],
  },
  teams: {
    insert: [
      (writer) => writer.teams.insert({ id: 'x', org: 'acme', name: 'new' }),
      [['team.created', { id: 'x', name: 'new' }, null, { id: 'x', name: 'new' }]],
    ],
    delete: [
      (writer) => writer.teams.delete('acme', TEAM),
      [
        [
          'team.deleted',
          { id: TEAM, name: 'backend' },
          { id: TEAM, name: 'backend', members: ['bob'] },
          null,
        ],
      ],
    ],
    addMember: [
      (writer) => writer.teams.addMember('acme', TEAM, 'ann'),
      [
        [
          'team.member_added',
          { id: TEAM, name: 'backend' },
          { username: 'ann', role: 'owner', teams: [] },
          { username: 'ann', role: 'owner', teams: [TEAM] },
        ],
      ],
    ],
    removeMember: [
      (writer) => writer.teams.removeMember('acme', TEAM, 'bob'),
      [['team.member_removed', { id: TEAM, name: 'backend' }, BOB, { ...BOB, teams: [] }]],
    ],
  },
  policies: {
    insert: [
      (writer) => writer.policies.insert({ ...POLICY, id: 'pol_2', name: 'two' }),
      [
        [
          'policy.created',
          { id: 'pol_2', name: 'two' },
          null,
          { ...SHOWN_POLICY, id: 'pol_2', name: 'two', updated_at: NOW },
        ],
      ],
    ],
    update: [
      (writer) =>
        writer.policies.update({
          org: 'acme',
          id: 'pol_1',
          name: 'one',
          teams: [TEAM],
          updated_at: LATER,
        }),
      [
        [
          'policy.updated',
          { id: 'pol_1', name: 'one' },
          SHOWN_POLICY,
          { ...SHOWN_POLICY, scope: { teams: [TEAM] } },
        ],
      ],
    ],
    delete: [
      (writer) => writer.policies.delete('acme', 'pol_1'),
      [
        [
          'policy.deleted',
          { id: 'pol_1', name: 'one' },
          { ...SHOWN_POLICY, allowlist_v0: { domain: 'network', rules: [RULE_0] } },
          null,
        ],
      ],
    ],
    insertRule: [
      (writer) => writer.policies.insertRule(AT, RULE),
      [['rule.created', { id: 'rule_1', name: 'web', policy_id: 'pol_1' }, null, RULE]],
    ],
    updateRule: [
      (writer) => writer.policies.updateRule(AT, { ...RULE_0, decision: 'deny' }),
      [
        [
          'rule.updated',
          { id: 'rule_0', name: 'zero', policy_id: 'pol_1' },
          RULE_0,
          { ...RULE_0, decision: 'deny' },
        ],
      ],
    ],
    deleteRule: [
      (writer) => writer.policies.deleteRule(AT, 'rule_0'),
      [['rule.deleted', { id: 'rule_0', name: 'zero', policy_id: 'pol_1' }, RULE_0, null]],
    ],
    replaceRules: [
      async (writer) => {
        await writer.policies.replaceRules(AT, [RULE_0, RULE])
        await writer.policies.replaceRules(AT, [RULE, { ...RULE_0, decision: 'deny' }])
        await writer.policies.replaceRules(AT, [RULE])
      },
      [
        ['rule.created', { id: 'rule_1', name: 'web', policy_id: 'pol_1' }, null, RULE],
        [
          'rule.updated',
          { id: 'rule_0', name: 'zero', policy_id: 'pol_1' },
          RULE_0,
          { ...RULE_0, decision: 'deny' },
        ],
        [
          'policy.rules_reordered',
          { id: 'pol_1', name: 'one' },
          { rules: ['rule_0', 'rule_1'] },
          { rules: ['rule_1', 'rule_0'] },
        ],
        [
          'rule.deleted',
          { id: 'rule_0', name: 'zero', policy_id: 'pol_1' },
          { ...RULE_0, decision: 'deny' },
          null,
        ],
      ],
    ],
  },
  accessTokens: {
    insert: [
      (writer) => writer.accessTokens.insert(token('t2', { org: 'acme' })),
      [
        [
          'access_token.created',
          { id: 't2', name: 'token t2' },
          null,
          { ...SHOWN_T1, id: 't2', name: 'token t2' },
        ],
      ],
    ],
    revoke: [
      (writer) => writer.accessTokens.revoke('t0', LATER),
      [
        [
          'access_token.revoked',
          { id: 't0', name: 'token t0' },
          SHOWN_TOKEN,
          { ...SHOWN_TOKEN, revoked_at: LATER },
        ],
        [
          'access_token.revoked',
          { id: 't1', name: 'token t1' },
          SHOWN_T1,
          { ...SHOWN_T1, revoked_at: LATER },
        ],
      ],
    ],
  },
  devices: {
    insert: [
      (writer) => writer.devices.insert(device('d2', null)),
      [['device.enrolled', { id: 'd2', name: null }, null, { ...D0, id: 'd2', user: null }]],
    ],
    revoke: [
      (writer) => writer.devices.revoke('d0', LATER),
      [['device.revoked', { id: 'd0', name: 'bob' }, D0, { ...D0, revoked_at: LATER }]],
    ],
    revokeOfUser: [
      (writer) => writer.devices.revokeOfUser('acme', 'bob', LATER),
      ['d0', 'd1'].map((id) => [
        'device.revoked',
        { id, name: 'bob' },
        { ...D0, id },
        { ...D0, id, revoked_at: LATER },
      ]),
    ],
  },
  signingKeys: {
    insert: [
      (writer) =>
        writer.signingKeys.insert({
          kid: 'k',
          purpose: 'bundle',
          private_jwk: { d: SECRET },
          created_at: NOW,
        }),
      [
        [
          'signing_key.created',
          { id: 'k', name: null },
          null,
          { kid: 'k', purpose: 'bundle', created_at: NOW },
        ],
      ],
    ],
  },
}

/** Writes that are no change of anything that anybody governs. */
const NOT_AUDITED: Record<string, readonly string[]> = {
  idempotency: ['put', 'deleteExpired'],
  secrets: ['insert'],
}

const cases = Object.entries(AUDITED).flatMap(([section, methods]) =>
  Object.entries(methods).map(([method, [work, expected]]) => ({
    name: `${section}.${method}`,
    work,
    expected,
  })),
)

describe('the audited store', () => {
  it.each(cases)('keeps what $name changed', async ({ work, expected }) => {
    const { audited, history } = await open()

    await audited.write(AUTHOR, work)

    const events = await history()
    expect(
      events.map(({ kind, subject, before, after }) => [kind, subject, before, after]),
    ).toEqual(expected)
    expect(JSON.stringify(events)).not.toContain(SECRET)
  })

  it('knows every method that writes', async () => {
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

  it('says who, when, from where and at which revision', async () => {
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

  it('chains every event to the one before', async () => {
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
    ['a role that he has', (writer) => writer.memberships.updateRole('acme', 'bob', 'editor')],
    ['a team that he is in', (writer) => writer.teams.addMember('acme', TEAM, 'bob')],
    ['a team that he is not in', (writer) => writer.teams.removeMember('acme', TEAM, 'ann')],
    ['a rule as it is', (writer) => writer.policies.updateRule(AT, RULE_0)],
    [
      'a setting as it is',
      (writer) => writer.organizations.updateSettings('acme', { resolve_unlisted_names: false }),
    ],
    ['a token that does not exist', (writer) => writer.accessTokens.revoke('none', LATER)],
    ['a device that does not exist', (writer) => writer.devices.revoke('none', LATER)],
    ['a secret of the server', (writer) => writer.secrets.insert('s', new Uint8Array(1))],
  ])('keeps nothing of %s', async (_name, work) => {
    const { store, audited, history } = await open()

    await audited.write(AUTHOR, work)

    expect(await history()).toEqual([])
    expect(await store.read((reader) => reader.events.head('acme'))).toBeNull()
  })

  it('keeps nothing of a transaction that failed', async () => {
    const { audited, history } = await open()

    const attempt = audited.write(AUTHOR, async (writer) => {
      await writer.teams.insert({ id: 'x', org: 'acme', name: 'x' })
      throw new Error('stop')
    })

    await expect(attempt).rejects.toThrow('stop')
    expect(await history()).toEqual([])
  })

  it('tells every organization of a user about his tokens, also the one he leaves', async () => {
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

  it('tells every organization about a signing key, and an organization about itself alone', async () => {
    const { audited, history } = await open()

    await audited.write(AUTHOR, async (writer) => {
      await writer.organizations.insert({ ...SETTINGS, name: 'third' })
      await AUDITED['signingKeys']?.['insert']?.[0](writer)
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

  it('chains what racing writers change without a gap or a fork', async () => {
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

  it('lets no service write history by itself', async () => {
    const { store } = await open()

    const attempt = store.transaction((writer) =>
      createAuditedWriter(writer, async () => {}).events.append('acme', []),
    )

    await expect(attempt).rejects.toThrow(TypeError)
  })

  it('is told after the commit which histories have grown', async () => {
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

  it('is the only way to write but for what belongs to nobody', () => {
    const root = join(import.meta.dirname, '../../../server/src')
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('store/'))
      .filter((file) => /\.transaction\(/.test(readFileSync(join(root, file), 'utf8')))

    expect(files.toSorted()).toEqual([
      'history/audited-store.ts',
      'tokens/ensure-secret.ts',
      'tokens/signing-keys.ts',
    ])
  })
})
