import type {
  ListUserOrganizationsResponse,
  OrganizationBody,
  PageQuery,
  UpdateOrganizationRequest,
  UserOrganization,
} from '@palisade/protocol'
import { readPage } from '../http/input/read-page.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { OrganizationRecord } from '../store/records.ts'
import type { StoreReader, StoreWriter } from '../store/store.ts'
import { authorize, requirePerson } from '../identity/authorize.ts'
import { updateAccess } from './update-access.ts'
import { updateDistribution } from './update-distribution.ts'
import { updateEvidence } from './update-evidence.ts'
import type { Caller } from '../identity/principal.ts'
import { permissionsOf } from '../identity/roles.ts'

/** An organization's settings, and the organizations of a user. Everything throws ApiError. */
export interface OrganizationService {
  /** For every member. */
  get(caller: Caller, org: string): Promise<OrganizationBody>
  /** A request without an effective change writes no row. */
  update(caller: Caller, org: string, request: UpdateOrganizationRequest): Promise<OrganizationBody>
  /** Lists organizations by name, with the caller's permissions in each. */
  listOfUser(caller: Caller, query: PageQuery): Promise<ListUserOrganizationsResponse>
}

export function createOrganizationService(deps: {
  readonly store: AuditedStore
  readonly pageTokenKey: Uint8Array
}): OrganizationService {
  const { store } = deps
  return {
    get: (caller, org) =>
      store.read(async (reader) =>
        formatOrganization(reader, (await authorize(reader, caller, org, null)).organization),
      ),

    update: (
      caller,
      org,
      { resolve_unlisted_names, default: chosen, support_message, distribution, evidence, access },
    ) =>
      store.write(caller.author, async (writer) => {
        const { organization } = await authorize(writer, caller, org, 'organization:admin')
        if (distribution !== undefined) await updateDistribution(writer, org, distribution)
        if (evidence !== undefined) await updateEvidence(writer, org, evidence)
        if (access !== undefined) await updateAccess(writer, org, access)
        if (
          resolve_unlisted_names !== undefined &&
          organization.resolve_unlisted_names !== resolve_unlisted_names
        )
          await writer.organizations.updateSettings(org, { resolve_unlisted_names })
        if (chosen !== undefined && chosen !== (organization.default ?? null))
          await writer.organizations.updateDefault(org, chosen)
        await updateSupportMessage(writer, organization, support_message)
        return formatOrganization(writer, (await writer.organizations.find(org)) ?? organization)
      }),

    listOfUser: (caller, query) =>
      store.read(async (reader) => {
        const { username } = requirePerson(caller)
        const list = { of: 'user_organizations', owner: username } as const
        const { rows, next_page_token } = await readPage(deps, list, query, {
          read: (page) => reader.memberships.pageOfUser(username, page),
          positionOf: ({ org }) => org,
        })
        const data: UserOrganization[] = []
        for (const { org, role } of rows) {
          const organization = await reader.organizations.find(org)
          if (organization === null) continue
          const permissions = permissionsOf(role).filter((held) =>
            caller.permissions.includes(held),
          )
          data.push({ name: org, role, permissions, entitled: organization.entitled })
        }
        return { data, next_page_token }
      }),
  }
}

/** An absent text stays; null ends it. */
async function updateSupportMessage(
  writer: StoreWriter,
  { name, support_message }: OrganizationRecord,
  text: string | null | undefined,
): Promise<void> {
  if (text !== undefined && text !== (support_message ?? null))
    await writer.organizations.updateSupportMessage(name, text)
}

async function formatOrganization(
  reader: StoreReader,
  record: OrganizationRecord,
): Promise<OrganizationBody> {
  const { name, entitled, resolve_unlisted_names, support_message, revision, created_at } = record
  return {
    name,
    entitled,
    resolve_unlisted_names,
    ...(record.default === undefined ? {} : { default: record.default }),
    ...(support_message === undefined ? {} : { support_message }),
    distribution: await reader.organizations.distribution(name),
    evidence: await reader.organizations.evidence(name),
    access: await reader.organizations.access(name),
    revision,
    created_at,
  }
}
