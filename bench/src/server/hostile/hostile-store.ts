import { randomBytes, randomUUID } from 'node:crypto'
import { openDataDirectory } from '../../../../server/src/operations/storage/data-directory.ts'
import { loadDeviceTokenKey } from '../../../../server/src/identity/device/device-tokens.ts'
import { permissionsOf } from '../../../../server/src/identity/roles.ts'
import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { fillRecords } from '../../evidence/fill-records.ts'
import { createLongTokens } from '../../fill/fill-devices.ts'
import {
  fillMember,
  fillOrganization,
  type Filled,
  type Shape,
} from '../../fill/fill-organization.ts'

/** A member of an attacked organization, with a personal access token. */
export interface Person {
  readonly username: string
  readonly token: string
}

/** The organizations of one measurement. The attackers are not members of the bystander's. */
export interface HostileStore {
  readonly bystander: Filled
  /** 34 MB of policies, close to the limits. */
  readonly huge: Filled & { readonly owner: Person; readonly member: Person }
  /** One policy, twelve teams, and a member without permissions, to whom its records belong. */
  readonly small: Filled & {
    readonly auditor: Person
    readonly member: Person
    readonly teams: readonly string[]
  }
  /** Many devices, all without the requested label. */
  readonly fleet: Filled & { readonly owner: Person }
}

export interface HostileShape {
  /** Number of policies of 400 KB in the huge organization. */
  readonly hugePolicies: number
  readonly devices: number
  /** Records of the small organization. */
  readonly records: number
}

const CREATED_AT = '2026-11-01T00:00:00Z'
const BYSTANDER = { policies: 4, rulesPerPolicy: 20, editors: 2, devices: 20 } as const
const TEAMS = 12
/** Machines that upload during a load, and those that have recorded before it. */
const UPLOADING = 8
const RECORDING = 50
/** Rules per policy and resources per rule, for 400 KB per policy. */
const RULES = 250
const RESOURCES = 40

/** Fills a data directory through the store, before a server opens it. */
export async function fillHostileStore(
  directory: string,
  { hugePolicies, devices, records }: HostileShape,
): Promise<HostileStore> {
  const store = openDataDirectory(directory)
  try {
    const tokens = createLongTokens(await loadDeviceTokenKey(store, randomBytes))
    const filled = await store.transaction(async (writer) => {
      const fill = (org: string, shape: Shape) =>
        fillOrganization(writer, org, { ...shape, tokens })
      const small = { policies: 1, rulesPerPolicy: 250, editors: 1, devices: 1 }
      const bystander = await fill('bystander', BYSTANDER)
      const attacked = await fill('small', { ...small, machines: UPLOADING })
      const teams = await fillTeams(writer, 'small')
      const huge = await fill('huge', { ...small, rulesPerPolicy: 1, devices: 4 })
      for (let n = 0; n < hugePolicies; n += 1) await fillLargePolicy(writer, 'huge', n)
      const fleet = await fill('fleet', { ...small, devices })
      return {
        bystander,
        small: {
          ...attacked,
          auditor: await fillPerson(writer, 'small', 'auditor'),
          member: await fillPerson(writer, 'small', 'member'),
          teams,
        },
        huge: {
          ...huge,
          owner: await fillPerson(writer, 'huge', 'owner'),
          member: await fillPerson(writer, 'huge', 'member'),
        },
        fleet: { ...fleet, owner: await fillPerson(writer, 'fleet', 'owner') },
      }
    })
    const { org, member } = filled.small
    const owner = { org, nowMs: Date.now(), nameUser: () => member.username }
    await fillRecords(directory, { tuples: records, users: RECORDING }, owner)
    return filled
  } finally {
    await store.close()
  }
}

function fillPerson(
  writer: StoreWriter,
  org: string,
  role: 'owner' | 'auditor' | 'member',
): Promise<Person> {
  const permissions = permissionsOf(role)
  return fillMember(writer, { org, username: `${role}.${org}`, role, permissions })
}

async function fillTeams(writer: StoreWriter, org: string): Promise<string[]> {
  const ids = Array.from({ length: TEAMS }, () => randomUUID())
  for (const [index, id] of ids.entries())
    await writer.teams.insert({ id, org, name: `team ${index}` })
  return ids
}

/** Writes a policy of 400 KB. */
async function fillLargePolicy(writer: StoreWriter, org: string, n: number): Promise<void> {
  const id = `pol_large${String(n).padStart(5, '0')}`
  await writer.policies.insert({
    id,
    org,
    name: `large ${n}`,
    teams: [],
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
  })
  for (let rule = 0; rule < RULES; rule += 1)
    await writer.policies.insertRule(
      { org, policyId: id, updated_at: CREATED_AT },
      {
        id: `rule_large${n}x${rule}`,
        name: `rule ${rule}`,
        actions: ['connect:tcp'],
        decision: 'allow',
        resources: Array.from(
          { length: RESOURCES },
          (_, index) => `r${index}.s${rule}.policy-${n}.example.com:443`,
        ),
      },
    )
}
