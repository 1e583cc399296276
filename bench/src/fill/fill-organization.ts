import { randomBytes, randomUUID } from 'node:crypto'
import { MAX_PATH_DEPTH } from '../../../packages/protocol/src/index.ts'
import type { DeviceTokens } from '../../../server/src/identity/device/device-tokens.ts'
import { formatViewId, viewSecretName } from '../../../server/src/views/content/view-id.ts'
import type { StoreWriter } from '../../../server/src/store/store.ts'
import type { permissionsOf } from '../../../server/src/identity/roles.ts'
import {
  createSecretToken,
  hashSecretToken,
} from '../../../server/src/identity/tokens/secret-token.ts'
import { fillDevice, fillMachine, type FleetMachine } from './fill-devices.ts'

const CREATED_AT = '2026-11-01T00:00:00Z'
const EXPIRES_AT = '2036-11-01T00:00:00.000Z'

export interface Shape {
  readonly policies: number
  readonly rulesPerPolicy: number
  readonly editors: number
  /** Devices without a key. */
  readonly devices: number
  /** Devices with a key, 0 by default. Their organization takes all records. */
  readonly machines?: number
}

/** The values that clients of one organization need. */
export interface Filled {
  readonly org: string
  readonly policyIds: readonly string[]
  readonly editors: readonly { readonly username: string; readonly token: string }[]
  readonly deviceTokens: readonly string[]
  readonly machines: readonly FleetMachine[]
  /** Id of the view that all devices share. */
  readonly view: string
}

const UPLOADED = {
  upload: 'full',
  sample_percent: 100,
  path_depth: MAX_PATH_DEPTH,
  programs: true,
  users: true,
} as const

const EDITOR = { role: 'editor', permissions: ['policies:read', 'policies:write'] } as const

/** Writes an organization through the store: editors with one token each, policies, devices. */
export async function fillOrganization(
  writer: StoreWriter,
  org: string,
  shape: Shape & { readonly tokens: DeviceTokens },
): Promise<Filled> {
  await writer.organizations.insert({
    name: org,
    entitled: true,
    resolve_unlisted_names: false,
    created_at: CREATED_AT,
  })
  const editors = await Promise.all(
    numbers(shape.editors).map((n) =>
      fillMember(writer, { ...EDITOR, org, username: `editor-${n}.${org}` }),
    ),
  )
  const policyIds = numbers(shape.policies).map((n) => `pol_${org.replaceAll('-', '')}${pad(n)}`)
  for (const id of policyIds) await fillPolicy(writer, org, id, shape.rulesPerPolicy)
  const deviceTokens: string[] = []
  for (const n of numbers(shape.devices)) {
    const username = editors[n % editors.length]?.username ?? null
    deviceTokens.push(await fillDevice(writer, { org, username }, shape.tokens))
  }
  const machines: FleetMachine[] = []
  for (const _ of numbers(shape.machines ?? 0))
    machines.push(await fillMachine(writer, org, shape.tokens))
  if (machines.length > 0) await writer.organizations.updateEvidence(org, UPLOADED)
  const secret = randomBytes(32)
  await writer.secrets.insert(viewSecretName(org), secret)
  return {
    org,
    policyIds,
    editors,
    deviceTokens,
    machines,
    view: formatViewId(secret, org, { teams: [], base: null }),
  }
}

/** Writes a member with a personal access token. */
export async function fillMember(
  writer: StoreWriter,
  member: {
    readonly org: string
    readonly username: string
    readonly role: 'owner' | 'editor' | 'auditor' | 'member'
    readonly permissions: ReturnType<typeof permissionsOf>
  },
): Promise<{ readonly username: string; readonly token: string }> {
  const { org, username, role, permissions } = member
  await writer.users.insert({ username, password_hash: null, created_at: CREATED_AT })
  await writer.memberships.insert({ org, username, role })
  const token = createSecretToken('personal', randomBytes)
  await writer.accessTokens.insert({
    kind: 'personal',
    username,
    id: randomUUID(),
    name: 'bench',
    permissions,
    secret_hash: hashSecretToken(token),
    created_at: CREATED_AT,
    expires_at: EXPIRES_AT,
    revoked_at: null,
    parent_id: null,
    prefix: 'pal_0000',
    created_by: 'operator',
    last_used_at: null,
  })
  return { username, token }
}

async function fillPolicy(writer: StoreWriter, org: string, id: string, rules: number) {
  await writer.policies.insert({
    id,
    org,
    name: `policy ${id}`,
    teams: [],
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
  })
  for (const n of numbers(rules))
    await writer.policies.insertRule(
      { org, policyId: id, updated_at: CREATED_AT },
      {
        id: `rule_${id.slice(4)}${pad(n)}`,
        name: `service ${n} of ${id}`,
        actions: ['connect:tcp'],
        decision: n % 5 === 4 ? 'deny' : 'allow',
        resources: [`service-${n}.${id.slice(4)}.example.com:443`],
      },
    )
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

function pad(n: number): string {
  return String(n).padStart(6, '0')
}
