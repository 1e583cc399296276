import type { DistributionSettings } from '@palisade/protocol'
import { describeEnded, endRestoredAccess } from '../operations/backup/end-restored-access.ts'
import { raiseRevisions } from '../operations/backup/raise-revisions.ts'
import { formatColumns } from './columns.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import { withStore } from './with-store.ts'
import type { Config } from '../config/config.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import type { Sources } from '../platform/sources.ts'
import type { OrganizationRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'

export interface OrganizationOptions {
  readonly json?: true
}

/** `org list` */
export async function listOrganizationsCommand(
  config: Config,
  options: OrganizationOptions,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    const data = await store.read(async (reader) => {
      const list: OrganizationView[] = []
      for (const name of await reader.organizations.names())
        list.push(await describe(reader, await requireOrganization(reader, name)))
      return list
    })
    print(options, { data }, () =>
      formatColumns([
        ['ORGANIZATION', 'GOVERNANCE', 'MEMBERS', 'POLICIES', 'DEVICES', 'REVISION', 'CREATED'],
        ...data.map((view) => [
          view.name,
          view.entitled ? 'entitled' : 'not entitled',
          String(view.members),
          String(view.policies),
          String(view.devices),
          String(view.revision),
          view.created_at,
        ]),
      ]),
    )
  })
}

/** `org show` */
export async function showOrganizationCommand(
  config: Config,
  name: string,
  options: OrganizationOptions,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    const view = await store.read(async (reader) =>
      describe(reader, await requireOrganization(reader, name)),
    )
    print(options, view, () =>
      formatColumns(Object.entries(view).map(([member, value]) => [member, String(value)])),
    )
  })
}

/** `org entitle` and `org unentitle` */
export async function entitleOrganizationCommand(
  config: Config,
  sources: Sources,
  { name, entitled }: Pick<OrganizationRecord, 'name' | 'entitled'>,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    await createAuditedStore({ store, now: sources.now }).write(OPERATOR, async (writer) => {
      const organization = await requireOrganization(writer, name)
      if (organization.entitled !== entitled)
        await writer.organizations.updateEntitled(name, entitled)
    })
    process.stdout.write(
      entitled
        ? `organization \`${name}\` may use governance\n`
        : `organization \`${name}\` can no longer use governance; ` +
            'its machines keep their last policy until it expires\n',
    )
  })
}

/** `org raise-revisions` */
export async function raiseRevisionsCommand(
  config: Config,
  sources: Sources,
  options: OrganizationOptions,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    const audited = createAuditedStore({ store, now: sources.now })
    const data = await raiseRevisions(audited, sources.now().getTime())
    const ended = await endRestoredAccess(audited, sources.now())
    print(options, { data, ended }, () => {
      const revisions = data.map(({ org, revision }) => [org, String(revision)])
      const columns = formatColumns([['ORGANIZATION', 'REVISION'], ...revisions])
      return `${columns}${describeEnded(ended)}\n`
    })
  })
}

interface OrganizationView extends OrganizationRecord, DistributionSettings {
  readonly members: number
  readonly teams: number
  readonly policies: number
  /** Not revoked. */
  readonly devices: number
  /** Bytes of all events of the organization. */
  readonly history_bytes: number
}

async function describe(
  reader: StoreReader,
  organization: OrganizationRecord,
): Promise<OrganizationView> {
  const { name } = organization
  const { offline_allow, ...times } = await reader.organizations.distribution(name)
  return {
    ...organization,
    ...times,
    offline_allow,
    members: (await reader.memberships.list(name)).length,
    teams: (await reader.teams.list(name)).length,
    policies: await reader.policies.count(name),
    devices: await reader.devices.countLive(name),
    history_bytes: await reader.events.bytes(name),
  }
}

async function requireOrganization(reader: StoreReader, name: string): Promise<OrganizationRecord> {
  const organization = await reader.organizations.find(name)
  if (organization === null)
    throw new CommandFailure('refused', `there is no organization \`${name}\``)
  return organization
}

function print({ json }: OrganizationOptions, value: object, text: () => string): void {
  process.stdout.write(json === true ? `${JSON.stringify(value)}\n` : text())
}
