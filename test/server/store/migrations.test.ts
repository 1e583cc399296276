import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseDatabaseUrl } from '../../../server/src/store/postgres/database-url.ts'
import { migrate as migratePostgres } from '../../../server/src/store/postgres/migrate.ts'
import {
  openPostgresStore,
  withConnection,
} from '../../../server/src/store/postgres/open-postgres-store.ts'
import { createViewPublisher } from '../../../server/src/views/publication/view-publisher.ts'
import type { RuleRecord } from '../../../server/src/store/records.ts'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import { deviceSearch } from '../../../server/src/store/sql/migrations/device-search.ts'
import { historyBytes } from '../../../server/src/store/sql/migrations/history-bytes.ts'
import { publications } from '../../../server/src/store/sql/migrations/publications.ts'
import { rolloutBases } from '../../../server/src/store/sql/migrations/rollout-bases.ts'
import { rulesInOrder } from '../../../server/src/store/sql/migrations/rules-in-order.ts'
import { migrate as migrateSqlite } from '../../../server/src/store/sqlite/migrate.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { hasPostgres, unusedDatabase } from '../postgres/test-postgres.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const AT = '2026-11-21T08:00:00.000Z'
const VIEW = 'f'.repeat(32)
const TIMESTAMP = `{"signed":{"x-issued":"${AT}","expires":"2026-11-22T08:00:00.000Z"}}`
const TEAM = '11111111-1111-4111-8111-111111111111'

/** What a server of schema 1 had written; frozen with that schema. */
const ROWS = `
  INSERT INTO organizations (name, entitled, revision, resolve_unlisted_names, created_at)
    VALUES ('acme', 1, 7, 0, '${AT}');
  INSERT INTO users (username, password_hash, created_at) VALUES ('ann', 'hash', '${AT}');
  INSERT INTO memberships (org, username, role) VALUES ('acme', 'ann', 'owner');
  INSERT INTO teams (id, org, name) VALUES ('${TEAM}', 'acme', 'one');
  INSERT INTO team_members (org, team_id, username) VALUES ('acme', '${TEAM}', 'ann');
  INSERT INTO policies (id, org, name, created_at, updated_at, revision)
    VALUES ('pol_1', 'acme', 'web', '${AT}', '${AT}', 7);
  INSERT INTO policy_teams (org, policy_id, position, team_id)
    VALUES ('acme', 'pol_1', 0, '${TEAM}');
  INSERT INTO rules (policy_id, id, name, actions, decision, resources)
    VALUES ('pol_1', 'rule_1', 'r', '["connect:tcp"]', 'allow', '["example.com:443"]');
  INSERT INTO access_tokens
    (id, username, name, permissions, secret_hash, created_at, expires_at)
    VALUES ('t1', 'ann', 'laptop', '["policies:read"]', 'hash of t1', '${AT}', '${AT}');
  INSERT INTO devices (id, org, username, token_hash, created_at)
    VALUES ('d1', 'acme', 'ann', 'hash of d1', '${AT}');
  INSERT INTO signing_keys (kid, purpose, private_jwk, created_at)
    VALUES ('k1', 'bundle', '{"kty":"OKP"}', '${AT}');
  INSERT INTO idempotency (scope, body_hash, status, headers, body, expires_at)
    VALUES ('s', 'h', 201, '{}', '{}', '${AT}');`

interface Driver {
  readonly name: string
  readonly isThere: boolean
  /** A database that the first `version` steps have made, with `sql` run at version 1, `last` at the end. */
  prepare(version: number, sql: string, last?: string): Promise<() => Promise<Store>>
}

const DRIVERS: readonly Driver[] = [
  {
    name: 'SQLite',
    isThere: true,
    async prepare(version, sql, last = '') {
      const path = join(temporaryDirectory(), 'server.db')
      const database = new Sqlite(path)
      if (version > 0) migrateSqlite(database, MIGRATIONS.slice(0, 1))
      database.exec(sql)
      migrateSqlite(database, MIGRATIONS.slice(0, version))
      database.exec(last)
      database.close()
      return async () => openSqliteStore(path)
    },
  },
  {
    name: 'PostgreSQL',
    isThere: hasPostgres(),
    async prepare(version, sql, last = '') {
      const url = await unusedDatabase()
      if (version > 0)
        await withConnection(parseDatabaseUrl(url), { mayTakeLong: true }, async (connection) => {
          await migratePostgres(connection, MIGRATIONS.slice(0, 1))
          await connection.execute(sql)
          await migratePostgres(connection, MIGRATIONS.slice(0, version))
          if (last !== '') await connection.execute(last)
        })
      return () => openPostgresStore(url)
    },
  },
]

describe.each(DRIVERS.filter(({ isThere }) => isThere))(
  'the schema of $name',
  ({ name, prepare }) => {
    it.each(MIGRATIONS.map((_, index) => index + 1))(
      'comes from version %i to the newest with its data',
      async (version) => {
        const open = await prepare(version, ROWS)

        const store = await open()

        const found = await store.read(async (reader) => ({
          organization: await reader.organizations.find('acme'),
          user: await reader.users.find('ann'),
          teams: await reader.teams.listOfUser('acme', 'ann'),
          policy: await reader.policies.find('acme', 'pol_1'),
          token: await reader.accessTokens.findBySecretHash('hash of t1'),
          device: await reader.devices.find('acme', 'd1'),
          keys: await reader.signingKeys.list('bundle'),
          owners: await reader.memberships.ownersOfAccount('ann'),
          answer: await reader.idempotency.find('s'),
        }))
        expect(found).toMatchObject({
          organization: { name: 'acme', entitled: true, revision: 7, created_at: AT },
          user: { username: 'ann', password_hash: 'hash' },
          teams: [TEAM],
          policy: { teams: [TEAM], rules: [{ id: 'rule_1', resources: ['example.com:443'] }] },
          token: { kind: 'personal', username: 'ann', permissions: ['policies:read'] },
          device: { id: 'd1', username: 'ann', thumbprint: null, labels: [], revoked_at: null },
          keys: [{ kid: 'k1', private_jwk: { kty: 'OKP' } }],
          owners: ['acme'],
          answer: { status: 201 },
        })
        await store.transaction((writer) => writer.policies.delete('acme', 'pol_1'))
        await store.close()
      },
    )

    it('finds devices of an earlier release by their labels', async () => {
      const open = await prepare(
        MIGRATIONS.indexOf(deviceSearch),
        ROWS,
        `INSERT INTO devices (id, org, labels, created_at) VALUES
           ('d2', 'acme', '["ci","linux"]', '${AT}'), ('d3', 'acme', '["c"]', '${AT}')`,
      )
      const store = await open()
      onTestFinished(() => store.close())

      const page = { after: '', window: 9, limit: 9 }
      const search = (label: string) =>
        store.read((reader) => reader.devices.search('acme', { label }, page))

      expect((await search('linux')).devices.map(({ id }) => id)).toEqual(['d2'])
      expect((await search('c')).devices.map(({ id }) => id)).toEqual(['d3'])
      expect((await search('"')).devices).toEqual([])
    })

    it('signs views of before anew, above what was served of them', async () => {
      const high = 9_000_000_000
      const bytes = (text: string) =>
        name === 'SQLite' ? `CAST('${text}' AS BLOB)` : `convert_to('${text}', 'UTF8')`
      const open = await prepare(
        MIGRATIONS.indexOf(publications),
        ROWS,
        `INSERT INTO views VALUES ('acme', '${VIEW}', 7, 'hash', 1, ${high}, '${AT}', ${high},
         '${AT}', ${high}, '${AT}', ${bytes(TIMESTAMP)});
       INSERT INTO view_files (org, view_id, name, body)
         VALUES ('acme', '${VIEW}', '${high}.targets.json', ${bytes('{}')});
       INSERT INTO policy_documents (org, sha256, body)
         VALUES ('acme', 'sha', ${bytes('{}')});
       INSERT INTO view_documents (org, view_id, path, sha256)
         VALUES ('acme', '${VIEW}', 'policies/sha.pol_1.json', 'sha');`,
      )

      const store = await open()

      const publisher = createViewPublisher({ store, now: () => new Date(AT) })
      const { body } = await publisher.current({ org: 'acme', id: VIEW, teams: [TEAM], base: null })
      const versions = [high + 1, high + 1, high + 1]
      const found = await store.read(async ({ views }) => {
        const view = await views.find('acme', VIEW)
        return {
          versions: [view?.targets_version, view?.snapshot_version, view?.timestamp_version],
          former: await views.file('acme', VIEW, `${high}.targets.json`, 0),
          targets: await views.file('acme', VIEW, `${high + 1}.targets.json`, 0),
          document: await views.document('acme', VIEW, 'policies/sha.pol_1.json', 0),
        }
      })
      expect(found).toMatchObject({ versions, former: null, document: null })
      expect(Buffer.from(found.targets ?? []).toString()).toContain('policies/pol_1.json')
      expect(Buffer.from(body).toString()).toContain(`"version":${high + 1}`)
      await store.close()
    })

    it('keeps the order of rules of before, and finds their names and ids taken', async () => {
      const rules = Array.from({ length: 20 }, (_, index): RuleRecord => ({
        id: `rule_${(index * 7) % 20}`,
        name: `name ${(index * 3) % 20}`,
        actions: ['connect:tcp'],
        decision: 'deny',
        resources: ['example.com'],
      }))
      const rows = rules.map(
        ({ id, name }) =>
          `('pol_1', '${id}', '${name}', '["connect:tcp"]', 'deny', '["example.com"]')`,
      )
      const open = await prepare(
        MIGRATIONS.indexOf(rulesInOrder),
        ROWS,
        `DELETE FROM rules;
         INSERT INTO rules (policy_id, id, name, actions, decision, resources)
           VALUES ${rows.toReversed().join(', ')}`,
      )

      const store = await open()

      const found = await store.read((reader) => reader.policies.find('acme', 'pol_1'))
      expect(found?.rules).toEqual(rules.toReversed())
      const at = { org: 'acme', policyId: 'pol_1', updated_at: AT }
      const first = { ...rules[0]!, id: 'rule_first', name: 'first' }
      const added = await store.transaction(({ policies }) => policies.insertRule(at, first))
      expect(added.rules.at(-1)).toEqual(first)
      for (const [rule, subject] of [
        [{ ...first, id: 'rule_other', name: 'name 3' }, 'rule_name'],
        [{ ...first, id: 'rule_7', name: 'other' }, 'other'],
      ] as const)
        await expect(
          store.transaction(({ policies }) => policies.insertRule(at, rule)),
        ).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT', subject })
      await store.close()
    })

    it('keeps what a rollout of before began with', async () => {
      const copy = { id: 'pol_2', org: 'acme', name: 'changed since', revision: 6, rules: [] }
      const open = await prepare(
        MIGRATIONS.indexOf(rolloutBases),
        ROWS,
        `INSERT INTO rollouts (id, org, state, stages, stage, stage_at, max_rejected,
             base_revision, counted_from, created_at, created_by)
           VALUES ('r1', 'acme', 'running', '[]', 1, '${AT}', '{}', 7, '${AT}', '${AT}', 'x');
         INSERT INTO rollout_policies (rollout_id, policy_id, policy)
           VALUES ('r1', 'pol_1', '{"id":"pol_1"}'), ('r1', 'pol_2', '${JSON.stringify(copy)}')`,
      )

      const store = await open()

      const found = await store.read(async ({ policies, rollouts }) => ({
        ids: await rollouts.baseIds('acme', 'r1'),
        policies: [
          await rollouts.basePolicy('acme', 'r1', 'pol_1'),
          await rollouts.basePolicy('acme', 'r1', 'pol_2'),
        ],
        unchanged: await policies.find('acme', 'pol_1'),
      }))
      expect(found.ids).toEqual(['pol_1', 'pol_2'])
      expect(found.policies).toEqual([found.unchanged, copy])
      await store.close()
    })

    it('counts the bytes of the events of before as those of now', async () => {
      const event = (sequence: number) => `('acme', ${sequence}, '${AT}', 'team.created', 'x',
        '{"id":"ü","name":null}', NULL, '{"id":"ü"}', 1, 'p', 'h${sequence}')`
      const open = await prepare(
        MIGRATIONS.indexOf(historyBytes),
        ROWS,
        `INSERT INTO events (org, sequence, at, kind, actor, subject, before_state, after_state,
             revision, previous_hash, hash)
           VALUES ${event(1)}, ${event(2)};
         DELETE FROM event_heads;
         INSERT INTO event_heads (org, sequence, hash) VALUES ('acme', 2, 'h2')`,
      )

      const store = await open()
      const bytes = () => store.read(({ events }) => events.bytes('acme'))
      const before = await bytes()
      await store.transaction(async ({ events }) => {
        const [, last] = await events.list('acme', { after: 0, through: 9, limit: 9 })
        await events.append('acme', [{ ...last!, sequence: 3, hash: 'h3' }])
      })

      expect(before).toBeGreaterThan(0)
      expect(await bytes()).toBe((before * 3) / 2)
      await store.close()
    })

    it('is made once when eight open an empty database together', async () => {
      const open = await prepare(0, '')

      const stores = await Promise.all(Array.from({ length: 8 }, open))

      await Promise.all(
        stores.map((store, index) =>
          store.transaction((writer) =>
            writer.users.insert({
              username: `user${index}`,
              password_hash: null,
              created_at: AT,
            }),
          ),
        ),
      )
      for (const store of stores) {
        expect(await store.read((reader) => reader.users.find('user7'))).not.toBeNull()
        await store.close()
      }
    })
  },
)

describe.skipIf(!hasPostgres())('a PostgreSQL database', () => {
  const inDatabase = (
    url: string,
    work: Parameters<typeof withConnection<unknown>>[2],
  ): Promise<unknown> => withConnection(parseDatabaseUrl(url), { mayTakeLong: false }, work)

  it('of a newer release is refused and left as it is', async () => {
    const url = await unusedDatabase()
    const newer = [...MIGRATIONS, () => 'CREATE TABLE more (id TEXT)']
    await inDatabase(url, (connection) => migratePostgres(connection, newer))

    await expect(openPostgresStore(url)).rejects.toMatchObject({ code: 'ERR_STORE_SCHEMA_TOO_NEW' })

    const rows = inDatabase(url, (connection) =>
      connection.execute('SELECT version FROM palisade_store'),
    )
    expect(await rows).toEqual([{ version: newer.length }])
  })

  it('shows rules to whoever began to read before a newer release took it over', async () => {
    const url = await unusedDatabase()
    const migrations = MIGRATIONS.slice(0, MIGRATIONS.indexOf(rulesInOrder))
    await inDatabase(url, async (connection) => {
      await migratePostgres(connection, MIGRATIONS.slice(0, 1))
      await connection.execute(ROWS)
    })
    const store = await openPostgresStore(url, { migrations })
    onTestFinished(() => store.close())

    const found = await store.read(async ({ policies }) => {
      await (await openPostgresStore(url)).close()
      return policies.find('acme', 'pol_1')
    })

    expect(found).toMatchObject({ teams: [TEAM], rules: [{ id: 'rule_1' }] })
  })

  it('keeps its old schema when a step of a migration fails', async () => {
    const url = await unusedDatabase()
    const broken = [() => 'CREATE TABLE more (id TEXT)', () => 'CREATE TABLE oops (']

    await expect(
      inDatabase(url, (connection) => migratePostgres(connection, broken)),
    ).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })

    const tables = inDatabase(url, (connection) =>
      connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
    )
    expect(await tables).toEqual([])
  })
})
