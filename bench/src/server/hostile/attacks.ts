import { exchange, formatRequest, pollRequests } from '../../load/requests.ts'
import { COUNTER } from '../../load/load-request.ts'
import type { FleetMachine } from '../../fill/fill-devices.ts'
import type { HostileStore } from './hostile-store.ts'

/**
 * One kind of hostile load: requests that eight connections repeat without a pause, or machines
 * that upload records.
 */
export type Attack =
  | { readonly name: string; readonly requests: readonly string[] }
  | { readonly name: string; readonly machines: readonly FleetMachine[] }

const LONG = 'x'.repeat(240)
const MIB = 1024 * 1024
const TARGET = { action: 'connect:tcp', host: 'r1.s1.policy-1.example.com', port: 443 }
/** Clients from different networks, by the `x-forwarded-for` of a trusted proxy. */
const NETWORKS = 200

/** Signs in the attackers and returns the requests of each attack. */
export async function prepareAttacks(port: number, store: HostileStore): Promise<Attack[]> {
  const bearer = async ({ username, token }: { username: string; token: string }) =>
    `Bearer ${await exchange(port, username, token)}`
  const { small, huge, fleet } = store
  const [auditor, member] = [await bearer(small.auditor), await bearer(small.member)]
  const [owner, hugeMember] = [await bearer(huge.owner), await bearer(huge.member)]
  const fleetOwner = await bearer(fleet.owner)
  const [policy = ''] = huge.policyIds
  const post = (path: string, authorization: string | null, body: string): string =>
    formatRequest('POST', path, authorization, body)

  return [
    {
      name: '4 MiB of white space to apply, by an auditor',
      requests: [post('/api/v1/orgs/small/apply', auditor, blankDocument(4 * MIB - 1024))],
    },
    {
      name: '1 MiB of white space, by a plain member',
      requests: [
        post('/api/v1/user/access-tokens', member, blankDocument(MIB - 1024)),
        post('/api/v1/orgs/small/check', member, blankDocument(MIB - 1024)),
      ],
    },
    {
      name: 'check in 34 MB of policies, by a plain member',
      requests: [
        post(
          '/api/v1/orgs/huge/check',
          hugeMember,
          JSON.stringify({ user: huge.member.username, request: TARGET }),
        ),
      ],
    },
    {
      name: 'check with ever new sets of teams',
      requests: teamSets(small.teams).map((teams) =>
        post('/api/v1/orgs/small/check', auditor, JSON.stringify({ teams, request: TARGET })),
      ),
    },
    {
      name: 'devices by a label that no device has',
      requests: [formatRequest('GET', '/api/v1/orgs/fleet/devices?label=none', fleetOwner)],
    },
    {
      name: 'status of a revision',
      requests: [formatRequest('GET', '/api/v1/orgs/fleet/revisions/1', fleetOwner)],
    },
    {
      name: 'wrong passwords from 200 networks',
      requests: Array.from({ length: NETWORKS }, (_, network) =>
        formatRequest(
          'POST',
          '/v2/auth/token',
          null,
          JSON.stringify({ username: `guess-${network}-${COUNTER}`, password: 'wrong password' }),
          [`x-forwarded-for: 198.18.${network}.1`],
        ),
      ),
    },
    {
      name: 'renaming a policy in 34 MB of policies, and polls',
      requests: [
        formatRequest(
          'PATCH',
          `/v2/orgs/huge/governance/policies/${policy}`,
          owner,
          JSON.stringify({ name: `renamed ${COUNTER}` }),
        ),
        ...pollRequests([huge]),
      ],
    },
    {
      name: 'plan of 4 MB of policies',
      requests: [post('/api/v1/orgs/huge/apply', owner, largeDocument())],
    },
    ...evidenceAttacks(store, { auditor, member }),
  ]
}

/** Loads on evidence and access requests, by members of the organization with records. */
function evidenceAttacks(
  { small }: HostileStore,
  { auditor, member }: { readonly auditor: string; readonly member: string },
): Attack[] {
  const url = `/api/v1/orgs/${small.org}`
  const post = (path: string, authorization: string, body: object): string =>
    formatRequest('POST', path, authorization, JSON.stringify(body))
  return [
    { name: 'records of new targets from eight machines', machines: small.machines },
    {
      name: 'replays',
      requests: [post(`${url}/replay`, auditor, { policies: [], prune: true, days: 1 })],
    },
    {
      name: 'suggestions',
      requests: [post(`${url}/suggestions`, auditor, {})],
    },
    {
      name: 'downloads of the audit log, by a plain member',
      requests: ['jsonl', 'csv'].map((format) =>
        formatRequest(
          'GET',
          `${url}/audit-log?format=${format}&username=${small.member.username}`,
          member,
        ),
      ),
    },
    {
      name: 'access requests of 2,600 characters, by a plain member',
      requests: [
        post(`${url}/access-requests`, member, {
          action: 'read',
          resources: Array.from({ length: 10 }, (_, index) => `/${COUNTER}${index}/${LONG}/**`),
          duration_seconds: 3600,
          reason: 'x'.repeat(400),
        }),
        formatRequest('GET', `${url}/access-requests`, member),
      ],
    },
    {
      name: 'tokens made by a stolen token',
      requests: [
        post('/api/v1/user/access-tokens', member, {
          name: `made ${COUNTER}`,
          permissions: [],
          expires_in_days: 1,
        }),
      ],
    },
  ]
}

/**
 * Returns the bystander's requests in turns: reads of one organization, and polls of its devices.
 */
export async function bystanderRequests(
  port: number,
  { bystander }: HostileStore,
): Promise<string[]> {
  const [editor] = bystander.editors
  if (editor === undefined) throw new Error('the bystander has no editor')
  const authorization = `Bearer ${await exchange(port, editor.username, editor.token)}`
  const { org, policyIds } = bystander
  const reads = [
    `/v2/orgs/${org}/governance/policies/${policyIds[0] ?? ''}`,
    `/v2/orgs/${org}/governance/policies`,
    `/api/v1/orgs/${org}`,
  ].map((path) => formatRequest('GET', path, authorization))
  return pollRequests([bystander]).flatMap((poll) => [...reads, poll])
}

function blankDocument(bytes: number): string {
  return `{"policies":[${' '.repeat(bytes)}],"dry_run":true}`
}

/** Every non-empty set of teams. */
function teamSets(teams: readonly string[]): string[][] {
  return Array.from({ length: 2 ** teams.length - 1 }, (_, index) =>
    teams.filter((_team, bit) => ((index + 1) & (1 << bit)) !== 0),
  )
}

function largeDocument(): string {
  const rule = (name: number) => ({
    name: `rule ${name}`,
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: Array.from({ length: 40 }, (_, index) => `n${index}.s${name}.example.com:443`),
  })
  const policies = Array.from({ length: 14 }, (_, index) => ({
    name: `planned ${index}`,
    rules: Array.from({ length: 250 }, (_rule, name) => rule(name)),
  }))
  return JSON.stringify({ policies, dry_run: true })
}
