import type {
  AccessSettings,
  DefaultDecision,
  DistributionSettings,
  EvidenceSettings,
} from '@palisade/protocol'
import {
  DEFAULT_ACCESS_SETTINGS,
  DEFAULT_DISTRIBUTION_SETTINGS,
  DEFAULT_EVIDENCE_SETTINGS,
} from '@palisade/protocol'
import type { OrganizationReader, OrganizationWriter } from './organization-contract.ts'
import type { OrganizationRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import type { BumpRevision, WriterContext } from '../aggregate.ts'
import type { WriteCache } from '../../sql/write-cache.ts'
import { StoreError } from '../../store-error.ts'

interface OrganizationRow {
  readonly name: string
  readonly entitled: number
  readonly revision: number
  readonly resolve_unlisted_names: number
  readonly default_decision: DefaultDecision | null
  readonly support_message: string | null
  readonly created_at: string
}

export function createBumpRevision(
  connection: Connection,
  { organizations }: Pick<WriteCache, 'organizations'>,
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
  { cache, bumpRevision }: WriterContext,
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
    find: (name) => cache.organizations.read(name, () => reader.find(name)),
    async insert(organization) {
      const { name, entitled, resolve_unlisted_names, created_at } = organization
      const texts = [organization.default ?? null, organization.support_message ?? null] as const
      const flags = [Number(entitled), Number(resolve_unlisted_names)] as const
      await insert.run(name, ...flags, ...texts, created_at)
      return { ...organization, revision: 0 }
    },
    async updateDefault(name, chosen) {
      await cache.organizations.write(name, () => updateDefault.run(chosen, name))
      await bumpRevision(name)
    },
    async updateSupportMessage(name, message) {
      await cache.organizations.write(name, () => updateSupport.run(message, name))
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
      await cache.organizations.write(name, () => updateEntitled.run(Number(entitled), name))
      await bumpRevision(name)
    },
    async raiseRevision(name, revision) {
      await cache.organizations.write(name, () => raiseRevision.run(revision, name))
    },
    async updateSettings(name, settings) {
      const resolves = Number(settings.resolve_unlisted_names)
      await cache.organizations.write(name, () => updateSettings.run(resolves, name))
      await bumpRevision(name)
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
