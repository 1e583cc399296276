import {
  DEFAULT_ACCESS_SETTINGS,
  DEFAULT_DISTRIBUTION_SETTINGS,
  DEFAULT_EVIDENCE_SETTINGS,
  type AccessSettings,
  type DefaultDecision,
  type DistributionSettings,
  type EvidenceSettings,
} from '@palisade/protocol'
import type { OrganizationRecord, UserRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type {
  OrganizationReader,
  OrganizationWriter,
  UserReader,
  UserWriter,
} from '../contract/organizations.ts'
import type { Connection } from './connection.ts'
import type { WriterMemory } from './writer-memory.ts'

interface OrganizationRow {
  readonly name: string
  readonly entitled: number
  readonly revision: number
  readonly resolve_unlisted_names: number
  readonly default_decision: DefaultDecision | null
  readonly support_message: string | null
  readonly created_at: string
}

/** Raises the organization's revision and answers the new one. */
export type BumpRevision = (org: string) => Promise<number>

export function createBumpRevision(
  connection: Connection,
  { organizations }: Pick<WriterMemory, 'organizations'>,
): BumpRevision {
  const bump = connection.prepare<{ revision: number }>(
    'UPDATE organizations SET revision = revision + 1 WHERE name = ? RETURNING revision',
    'governance',
  )
  return async (org) => {
    const { result } = await organizations.write(
      org,
      async () => {
        const row = await bump.get(org)
        if (row !== undefined) return row.revision
        throw new StoreError('ERR_STORE_NOT_FOUND', `organization \`${org}\` does not exist`)
      },
      (old, revision) => ({ ...old, revision }),
    )
    return result
  }
}

export function createOrganizationReader(connection: Connection): OrganizationReader {
  const find = connection.prepare<OrganizationRow>('SELECT * FROM organizations WHERE name = ?')
  const count = connection.prepare<{ total: number }>(
    'SELECT CAST(count(*) AS INTEGER) AS total FROM organizations',
  )
  const distribution = connection.prepare<{ settings: string }>(
    'SELECT settings FROM distribution_settings WHERE org = ?',
  )
  const evidence = connection.prepare<{ settings: string }>(
    'SELECT settings FROM evidence_settings WHERE org = ?',
  )
  const access = connection.prepare<{ settings: string }>(
    'SELECT settings FROM access_settings WHERE org = ?',
  )
  const names = connection.prepare<{ name: string }>('SELECT name FROM organizations ORDER BY name')
  const revisions = connection.prepare<{ name: string; revision: number }>(
    'SELECT name, revision FROM organizations',
  )
  return {
    async find(name) {
      const row = await find.get(name)
      return row === undefined ? null : toOrganization(row)
    },
    async count() {
      return (await count.get())?.total ?? 0
    },
    async names() {
      return (await names.all()).map(({ name }) => name)
    },
    async revisions() {
      return new Map((await revisions.all()).map(({ name, revision }) => [name, revision]))
    },
    async distribution(name) {
      const row = await distribution.get(name)
      const chosen = row && (JSON.parse(row.settings) as Partial<DistributionSettings>)
      return { ...DEFAULT_DISTRIBUTION_SETTINGS, ...chosen }
    },
    async evidence(name) {
      const row = await evidence.get(name)
      const chosen = row && (JSON.parse(row.settings) as Partial<EvidenceSettings>)
      return { ...DEFAULT_EVIDENCE_SETTINGS, ...chosen }
    },
    async access(name) {
      const row = await access.get(name)
      const chosen = row && (JSON.parse(row.settings) as Partial<AccessSettings>)
      return { ...DEFAULT_ACCESS_SETTINGS, ...chosen }
    },
  }
}

export function createOrganizationWriter(
  connection: Connection,
  bumpRevision: BumpRevision,
  memory: Pick<WriterMemory, 'organizations'>,
): OrganizationWriter {
  const reader = createOrganizationReader(connection)
  const insert = connection.prepare(`INSERT INTO organizations
     (name, entitled, revision, resolve_unlisted_names, default_decision, support_message,
      created_at)
     VALUES (?, ?, 0, ?, ?, ?, ?)`)
  const updateSettings = connection.prepare(
    'UPDATE organizations SET resolve_unlisted_names = ? WHERE name = ?',
  )
  const updateDefault = connection.prepare(
    'UPDATE organizations SET default_decision = ? WHERE name = ?',
  )
  const updateSupport = connection.prepare(
    'UPDATE organizations SET support_message = ? WHERE name = ?',
  )
  const putDistribution = connection.prepare(
    `INSERT INTO distribution_settings (org, settings) VALUES (?, ?)
     ON CONFLICT (org) DO UPDATE SET settings = excluded.settings`,
  )
  const putEvidence = connection.prepare(
    `INSERT INTO evidence_settings (org, settings) VALUES (?, ?)
     ON CONFLICT (org) DO UPDATE SET settings = excluded.settings`,
  )
  const putAccess = connection.prepare(
    `INSERT INTO access_settings (org, settings) VALUES (?, ?)
     ON CONFLICT (org) DO UPDATE SET settings = excluded.settings`,
    'governance',
  )
  const updateEntitled = connection.prepare('UPDATE organizations SET entitled = ? WHERE name = ?')
  const raiseRevision = connection.prepare('UPDATE organizations SET revision = ? WHERE name = ?')
  return {
    ...reader,
    find: (name) => memory.organizations.read(name, () => reader.find(name)),
    async insert(organization) {
      const { name, entitled, resolve_unlisted_names, created_at } = organization
      const texts = [organization.default ?? null, organization.support_message ?? null] as const
      const flags = [Number(entitled), Number(resolve_unlisted_names)] as const
      await insert.run(name, ...flags, ...texts, created_at)
      return { ...organization, revision: 0 }
    },
    async updateDefault(name, chosen) {
      await memory.organizations.write(name, () => updateDefault.run(chosen, name))
      await bumpRevision(name)
    },
    async updateSupportMessage(name, message) {
      await memory.organizations.write(name, () => updateSupport.run(message, name))
      await bumpRevision(name)
    },
    async updateDistribution(name, settings) {
      await bumpRevision(name)
      await putDistribution.run(name, JSON.stringify(settings))
    },
    async updateEvidence(name, settings) {
      await bumpRevision(name)
      await putEvidence.run(name, JSON.stringify(settings))
    },
    async updateAccess(name, settings) {
      await putAccess.run(name, JSON.stringify(settings))
    },
    async updateEntitled(name, entitled) {
      await memory.organizations.write(name, () => updateEntitled.run(Number(entitled), name))
      await bumpRevision(name)
    },
    async raiseRevision(name, revision) {
      await memory.organizations.write(name, () => raiseRevision.run(revision, name))
    },
    async updateSettings(name, settings) {
      const resolves = Number(settings.resolve_unlisted_names)
      await memory.organizations.write(name, () => updateSettings.run(resolves, name))
      await bumpRevision(name)
    },
  }
}

export function createUserReader(connection: Connection): UserReader {
  const find = connection.prepare<UserRecord>('SELECT * FROM users WHERE username = ?')
  const claimed = connection.prepare<{ names: string }>(
    'SELECT names FROM team_claims WHERE username = ?',
  )
  return {
    async claimedTeams(username) {
      const row = await claimed.get(username)
      return row === undefined ? null : (JSON.parse(row.names) as string[])
    },
    async find(username) {
      return (await find.get(username)) ?? null
    },
  }
}

export function createUserWriter(connection: Connection): UserWriter {
  const insert = connection.prepare(
    'INSERT INTO users (username, password_hash, created_at) VALUES (?, ?, ?)',
  )
  const updatePassword = connection.prepare(
    `UPDATE users SET password_hash = ?, password_generation = password_generation + 1
     WHERE username = ?`,
  )
  const endExternalSessions = connection.prepare(
    'UPDATE users SET external_not_before = ? WHERE username = ?',
  )
  const noteFailedSignIns = connection.prepare(
    'UPDATE users SET failed_sign_ins = failed_sign_ins + ? WHERE username = ?',
    'progress',
  )
  const noteTeamsSynced = connection.prepare(
    'UPDATE users SET teams_synced_iat = ? WHERE username = ?',
    'progress',
  )
  const putClaimed = connection.prepare(
    `INSERT INTO team_claims (username, names) VALUES (?, ?)
     ON CONFLICT (username) DO UPDATE SET names = excluded.names`,
    'progress',
  )
  const requireUser = (changes: number, username: string): void => {
    if (changes === 0)
      throw new StoreError('ERR_STORE_NOT_FOUND', `user \`${username}\` does not exist`)
  }
  return {
    ...createUserReader(connection),
    async updatePassword(username, passwordHash) {
      requireUser(await updatePassword.run(passwordHash, username), username)
    },
    async noteFailedSignIns(username, { wrong, throttled }) {
      requireUser(await noteFailedSignIns.run(wrong + throttled, username), username)
    },
    async noteTeamsSynced(username, issuedAt, names) {
      requireUser(await noteTeamsSynced.run(issuedAt, username), username)
      await putClaimed.run(username, JSON.stringify(names))
    },
    async endExternalSessions(username, at) {
      requireUser(await endExternalSessions.run(at, username), username)
    },
    async insert(user) {
      await insert.run(user.username, user.password_hash, user.created_at)
    },
  }
}

function toOrganization(stored: OrganizationRow): OrganizationRecord {
  const { default_decision, support_message, ...row } = stored
  return {
    ...row,
    ...(support_message === null ? {} : { support_message }),
    ...(default_decision === null ? {} : { default: default_decision }),
    entitled: row.entitled === 1,
    resolve_unlisted_names: row.resolve_unlisted_names === 1,
  }
}
