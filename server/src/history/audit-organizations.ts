import type { OrganizationRecord } from '../store/records.ts'
import type { OrganizationReader, OrganizationWriter } from '../store/store.ts'
import type { RecordChange, Writes } from './change.ts'

export function auditOrganizations(
  organizations: OrganizationWriter,
  record: RecordChange,
): Writes<OrganizationWriter, OrganizationReader> {
  async function show(name: string) {
    const organization = await organizations.find(name)
    return organization === null ? null : showOrganization(organization)
  }

  return {
    async insert(organization) {
      const inserted = await organizations.insert(organization)
      const after = showOrganization(inserted)
      await record({ ...change(inserted.name), kind: 'organization.created', before: null, after })
      return inserted
    },
    async updateSettings(name, settings) {
      const before = await show(name)
      await organizations.updateSettings(name, settings)
      const after = await show(name)
      await record({ ...change(name), kind: 'organization.updated', before, after })
    },
  }
}

function change(name: string) {
  return { place: { org: name }, subject: { id: name, name } }
}

/** Without the revision, which every event carries by itself. */
function showOrganization({ revision: _counted, ...organization }: OrganizationRecord) {
  return organization
}
