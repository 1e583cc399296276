import type { Prove } from '@palisade/client'
import { PERMISSIONS, type DeviceView } from '@palisade/protocol'
import { formatDeliveryId } from '../../../server/src/webhooks/delivery-id.ts'
import { cheapenHashes } from '../identity/sign-in/cheap-hashes.ts'
import { enrolTestDevice, newProver, TEST_ORIGIN, type TestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { createAnswerValidator, type ValidateAnswer } from './validate-answer.ts'
import { readDocument, type ApiDocument, type Operation } from './operations.ts'

/**
 * One identifier of every kind that a path can contain, by the name of its parameter. An endpoint
 * with a new kind needs an entry in `UNKNOWN` and in `populate`.
 */
export type Identifiers = Readonly<Record<IdentifierKind, string>>
export type IdentifierKind = keyof typeof UNKNOWN

/** Well-formed identifiers that do not exist. */
export const UNKNOWN = {
  org: 'nowhere',
  username: 'nobody',
  invited: 'nobody',
  inviting: 'nowhere',
  team: '00000000-0000-4000-8000-000000000000',
  policy_id: 'pol_0123456789abcdefghjkmnpqrstv',
  rule_id: 'rule_0123456789abcdefghjkmnpqrstv',
  device: '00000000-0000-4000-8000-000000000000',
  token: '00000000-0000-4000-8000-000000000000',
  personal_token: '00000000-0000-4000-8000-000000000000',
  enrolment_token: '00000000-0000-4000-8000-000000000000',
  webhook: '00000000-0000-4000-8000-000000000000',
  rollout: '00000000-0000-4000-8000-000000000000',
  request: 'acr_0123456789abcdefghjkmnpqrstv',
  delivery: `evt_1_${'0'.repeat(32)}`,
  view: '0'.repeat(32),
  revision: '999999999999999',
  metadata_file: '9.root.json',
  policy_file: `${'0'.repeat(64)}.pol_0123456789abcdefghjkmnpqrstv.json`,
} as const

/**
 * A server on which `acme` (owner `olga`) and `rival` (owner `rita`) have one entity of every kind,
 * and `poor` (owner `olga`) has no governance. The caller must close it.
 */
export interface TwoOrganizations extends TestServer {
  readonly document: ApiDocument
  readonly validate: ValidateAnswer
  readonly acme: Identifiers
  readonly rival: Identifiers
  /** Access tokens of callers of `acme`. */
  readonly callers: {
    readonly owner: string
    /** From a personal token of the owner with every permission. */
    readonly personalToken: string
    readonly organizationToken: string
    readonly editor: string
    readonly auditor: string
    readonly member: string
  }
  /** Secret of the token behind `callers.organizationToken`. */
  readonly organizationSecret: string
  readonly rivalOwner: string
  /** The device of `acme`. */
  readonly device: TestDevice
  /** Enrols any number of machines of `acme`. */
  readonly enrolmentSecret: string
  /** Returns the header `DPoP` for operations that declare it. */
  proofFor(operation: Operation, path: string, prove?: Prove): { dpop?: string }
  close(): Promise<void>
}

const PASSWORD = 'correct horse battery'
const ACCESS = {
  action: 'connect:tcp',
  resources: ['a.example.com:443'],
  duration_seconds: 3600,
  reason: 'a release',
}
/** A rollout to all machines at once. */
const EVERYBODY = { stages: [{ percent: 100 }], max_rejected: { machines: 0 } }

export async function openTwoOrganizations(): Promise<TwoOrganizations> {
  const undo: (() => void | Promise<void>)[] = []
  const atEnd = (step: () => void | Promise<void>) => void undo.push(step)
  cheapenHashes(atEnd)
  const server = await openTestServer(atEnd)
  const document = readDocument((await server.send('GET', '/openapi.json')).json())
  const olga = await server.createOrganization('acme', 'olga')
  const rita = await server.createOrganization('rival', 'rita')
  await server.createOrganization('poor', 'olga', false)
  const owner = await server.signIn('olga', olga.personal_token)
  const rivalOwner = await server.signIn('rita', rita.personal_token)
  const [acme, device] = await populate(server, owner, { org: 'acme', owner: 'olga' })
  const [rival] = await populate(server, rivalOwner, { org: 'rival', owner: 'rita' })

  const members = '/api/v1/orgs/acme/members'
  for (const role of ['editor', 'auditor'])
    await create(server, owner, members, { username: `acme-${role}`, role, password: PASSWORD })
  const everything = { name: 'all', permissions: PERMISSIONS, expires_in_days: 1 }
  const personal = await create(server, owner, '/api/v1/user/access-tokens', everything)
  const ofAcme = await create(server, owner, '/api/v1/orgs/acme/access-tokens', everything)
  const many = { name: 'many', max_uses: 1000, expires_in_days: 30 }
  const forMachines = await create(server, owner, '/api/v1/orgs/acme/enrolment-tokens', many)
  return {
    ...server,
    document,
    validate: createAnswerValidator(document),
    acme,
    rival,
    callers: {
      owner,
      personalToken: await server.signIn('olga', String(personal['token'])),
      organizationToken: await server.signIn('acme', String(ofAcme['token'])),
      editor: await server.signIn('acme-editor', PASSWORD),
      auditor: await server.signIn('acme-auditor', PASSWORD),
      member: await server.signIn('acme-member', PASSWORD),
    },
    organizationSecret: String(ofAcme['token']),
    rivalOwner,
    device,
    enrolmentSecret: String(forMachines['token']).split('.')[0] ?? '',
    proofFor(operation, path, prove = newProver(server)) {
      if (!operation.parameters.some(({ name }) => name === 'dpop')) return {}
      return { dpop: prove({ method: operation.method, url: TEST_ORIGIN + path }) }
    },
    async close() {
      for (const step of undo.toReversed()) await step()
    },
  }
}

/** Creates one entity of every kind in an organization, and its device. */
async function populate(
  server: TestServer,
  as: string,
  { org, owner }: { readonly org: string; readonly owner: string },
): Promise<readonly [Identifiers, TestDevice]> {
  const api = `/api/v1/orgs/${org}`
  const policies = `/v2/orgs/${org}/governance/policies`
  const username = `${org}-member`
  const enrolment = { name: 'one', max_uses: 1, expires_in_days: 1 }
  const secret = { name: 'one', permissions: ['policies:read'], expires_in_days: 1 }
  await create(server, as, `${api}/members`, { username, role: 'member', password: PASSWORD })
  const team = idOf(await create(server, as, `${api}/teams`, { name: 'backend' }))
  await server.send('PUT', `${api}/teams/${team}/members/${username}`, { as })
  const policy = await create(server, as, policies, { name: 'first', scope: { teams: [team] } })
  const rule = await create(server, as, `${policies}/${idOf(policy)}/rules`, {
    name: 'first',
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: ['example.com'],
  })
  const device = await enrolTestDevice(server, as, org, { user: username })
  const identifiers = {
    org,
    username,
    ...(await invite(server, { org, owner })),
    team,
    policy_id: idOf(policy),
    rule_id: idOf(rule),
    device: device.enrolment.device_id,
    token: idOf(await create(server, as, `${api}/access-tokens`, secret)),
    personal_token: idOf(await create(server, as, '/api/v1/user/access-tokens', secret)),
    enrolment_token: idOf(await create(server, as, `${api}/enrolment-tokens`, enrolment)),
    webhook: idOf(await create(server, as, `${api}/webhooks`, { url: 'https://example.com/' })),
    rollout: idOf(await create(server, as, `${api}/rollouts`, EVERYBODY)),
    request: idOf(await create(server, as, `${api}/access-requests`, ACCESS)),
    delivery: await firstDelivery(server, org),
    revision: '1',
    ...(await firstView(server, org, device)),
  }
  return [identifiers, device]
}

/** Creates a user that the organization has invited, and an organization that invited its owner. */
async function invite(
  { store }: TestServer,
  { org, owner }: { readonly org: string; readonly owner: string },
): Promise<{ invited: string; inviting: string }> {
  const [invited, inviting] = [`${org}-invited`, `inviting-${org}`]
  const created_at = '2026-11-21T08:00:00.000Z'
  const invitation = { role: 'member' as const, invited_by: 'operator', created_at }
  await store.transaction(async (writer) => {
    await writer.users.insert({ username: invited, password_hash: null, created_at })
    const settings = { entitled: true, resolve_unlisted_names: false, created_at }
    await writer.organizations.insert({ name: inviting, ...settings })
    await writer.invitations.insert({ ...invitation, org, username: invited })
    await writer.invitations.insert({ ...invitation, org: inviting, username: owner })
  })
  return { invited, inviting }
}

async function firstDelivery({ store }: TestServer, org: string): Promise<string> {
  const page = { after: 0, through: 1, limit: 1 }
  const [event] = await store.read((reader) => reader.events.list(org, page))
  return event === undefined ? '' : formatDeliveryId(event)
}

/** Returns the resources of the device: its view, and a file of each kind in the view. */
async function firstView(server: TestServer, org: string, as: TestDevice) {
  const assigned = await server.send('GET', '/api/v1/device/view', { as })
  const { view } = assigned.json<DeviceView>().signed
  const metadata = `/api/v1/orgs/${org}/views/${view}/metadata`
  const timestamp = await server.send('GET', `${metadata}/timestamp.json`, { as })
  const { signed } = timestamp.json<{ signed: { meta: Record<string, { version: number }> } }>()
  const version = signed.meta['snapshot.json']?.version ?? 0
  const policy_file = await server.store.read(async (reader) => {
    const targets = await reader.views.file(org, view, `${version}.targets.json`, 0)
    const text = Buffer.from(targets ?? []).toString()
    const [, id = '', sha256 = ''] =
      /"policies\/(pol_\w+)\.json":.*?"sha256":"(\w+)"/.exec(text) ?? []
    return `${sha256}.${id}.json`
  })
  return { view, metadata_file: `${version}.snapshot.json`, policy_file }
}

type Created = Readonly<Record<string, unknown>>

async function create(
  server: TestServer,
  as: string,
  url: string,
  payload: object,
): Promise<Created> {
  const answer = await server.send('POST', url, { as, payload })
  if (answer.statusCode !== 201) throw new Error(`${url}: ${answer.body}`)
  return answer.json<Created>()
}

function idOf(created: Created): string {
  return String(created['id'])
}

/** Returns the kind of identifier of a path parameter. Throws for an unknown one. */
export function kindOf(path: string, parameter: string): IdentifierKind {
  if (path.startsWith('/api/v1/user/') && parameter === 'token') return 'personal_token'
  if (parameter === 'file') return path.includes('/targets/') ? 'policy_file' : 'metadata_file'
  if (!(parameter in UNKNOWN))
    throw new Error(`\`{${parameter}}\` of ${path} is not in two-organizations.ts; add it there`)
  return parameter as IdentifierKind
}

/** Returns the world with a new access request, in a state that the operation accepts. */
export async function withAccessRequest(
  world: TwoOrganizations,
  { id: operation, method, path }: Operation,
): Promise<TwoOrganizations> {
  if (method !== 'POST' || !path.includes('/access-requests/{')) return world
  const as = world.callers.owner
  const requests = '/api/v1/orgs/acme/access-requests'
  const request = idOf(await create(world, as, requests, ACCESS))
  if (operation === 'revokeAccessRequest')
    await world.send('POST', `${requests}/${request}/approve`, { as, payload: {} })
  return { ...world, acme: { ...world.acme, request } }
}

/** Returns the world with a rollout in a state that the operation accepts. */
export async function withRollout(
  world: TwoOrganizations,
  { id: operation, method, path }: Operation,
): Promise<TwoOrganizations> {
  if (method !== 'POST' || !path.includes('/rollouts')) return world
  const rollouts = '/api/v1/orgs/acme/rollouts'
  const as = world.callers.owner
  const open = await world.store.read((reader) => reader.rollouts.findOpen('acme'))
  await world.send('POST', `${rollouts}/${open?.id ?? ''}/finish`, { as })
  if (operation === 'startRollout') {
    const device = `/api/v1/orgs/acme/devices/${world.acme.device}`
    await world.send('PATCH', device, { as, payload: { labels: ['canary'] } })
    return world
  }
  const stages = [{ label: 'none' }, ...EVERYBODY.stages]
  const rollout = idOf(await create(world, as, rollouts, { ...EVERYBODY, stages, force: true }))
  if (operation === 'resumeRollout')
    await world.send('POST', `${rollouts}/${rollout}/pause`, { as })
  return { ...world, acme: { ...world.acme, rollout } }
}
