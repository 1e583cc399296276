import { defineAggregate } from '../aggregate.ts'
import { createOrganizationReader, createOrganizationWriter } from './organization-rows.ts'
import type { OrganizationReader, OrganizationWriter } from './organization-contract.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { OrganizationRecord } from '../../records.ts'

export const ORGANIZATIONS = defineAggregate({
  tables: [
    { name: 'organizations', key: ['name'] },
    { name: 'distribution_settings', key: ['org'] },
    { name: 'evidence_settings', key: ['org'] },
    { name: 'access_settings', key: ['org'] },
  ],
  reader: createOrganizationReader,
  writer: createOrganizationWriter,
  events: auditOrganizations,
})

function auditOrganizations(
  organizations: OrganizationWriter,
  { record }: ChangeRecorder,
): Writes<OrganizationWriter, OrganizationReader> {
  async function show(name: string) {
    const organization = await organizations.find(name)
    return organization === null ? null : showOrganization(organization)
  }

  async function showRevision(name: string) {
    const organization = await organizations.find(name)
    return organization === null ? null : { revision: organization.revision }
  }

  async function update(name: string, write: () => Promise<void>): Promise<void> {
    const before = await show(name)
    await write()
    const after = await show(name)
    await record({ ...change(name), kind: 'organization.updated', before, after })
  }

  return {
    async insert(organization) {
      const inserted = await organizations.insert(organization)
      const after = showOrganization(inserted)
      await record({ ...change(inserted.name), kind: 'organization.created', before: null, after })
      return inserted
    },
    updateSettings: (name, settings) =>
      update(name, () => organizations.updateSettings(name, settings)),
    updateDefault: (name, chosen) => update(name, () => organizations.updateDefault(name, chosen)),
    updateSupportMessage: (name, message) =>
      update(name, () => organizations.updateSupportMessage(name, message)),
    async updateDistribution(name, settings) {
      const before = { distribution: await organizations.distribution(name) }
      await organizations.updateDistribution(name, settings)
      const after = { distribution: await organizations.distribution(name) }
      await record({ ...change(name), kind: 'organization.updated', before, after })
    },
    async updateEvidence(name, settings) {
      const before = { evidence: await organizations.evidence(name) }
      await organizations.updateEvidence(name, settings)
      const after = { evidence: await organizations.evidence(name) }
      await record({ ...change(name), kind: 'organization.updated', before, after })
    },
    async updateAccess(name, settings) {
      const before = { access: await organizations.access(name) }
      await organizations.updateAccess(name, settings)
      const after = { access: await organizations.access(name) }
      await record({ ...change(name), kind: 'organization.updated', before, after })
    },
    updateEntitled: (name, entitled) =>
      update(name, () => organizations.updateEntitled(name, entitled)),
    async raiseRevision(name, revision) {
      const before = await showRevision(name)
      await organizations.raiseRevision(name, revision)
      const after = await showRevision(name)
      await record({ ...change(name), kind: 'organization.restored', before, after })
    },
  }
}

function change(name: string) {
  return { scope: { org: name }, subject: { id: name, name } }
}

/** Without the revision, which every event carries by itself. */
function showOrganization({ revision: _counted, ...organization }: OrganizationRecord) {
  return organization
}
