import type { TestServer } from '../../test-server.ts'

/** A kind of list: of the organization `acme` or its owner `alice`, and of `rival` or `rita`. */
export interface PagedList {
  /** Its name in page tokens. */
  readonly name: string
  readonly url: string
  /** The list of the same kind that `rita` sees; the same path for a user's own list. */
  readonly foreignUrl: string
  add(scene: PagedScene, index: number): Promise<void>
  /** The key of an entry. */
  keyOf(entry: Record<string, string>): string
  /** Absent for lists without removal. */
  readonly remove?: (scene: PagedScene, key: string) => Promise<void>
}

export interface PagedScene {
  readonly test: TestServer
  /** Access tokens. */
  readonly alice: string
  readonly rita: string
}

const ACME = '/api/v1/orgs/acme'
const RIVAL = '/api/v1/orgs/rival'
const idOf = ({ id = '' }: Record<string, string>): string => id

/** A list whose entries are created by POST and removed by DELETE. */
function resource(
  name: string,
  path: string,
  payload: (index: number) => object,
  keyOf = idOf,
): PagedList {
  const [url, foreignUrl] = path.startsWith('/')
    ? [path, path]
    : [`${ACME}/${path}`, `${RIVAL}/${path}`]
  return {
    name,
    url,
    foreignUrl,
    keyOf,
    add: ({ test, alice }, index) => succeed(test, 'POST', url, alice, payload(index)),
    remove: ({ test, alice }, key) => succeed(test, 'DELETE', `${url}/${key}`, alice),
  }
}

async function succeed(
  test: TestServer,
  method: 'POST' | 'DELETE',
  url: string,
  as: string,
  payload?: object,
): Promise<void> {
  const { statusCode, body } = await test.send(method, url, {
    as,
    ...(payload === undefined ? {} : { payload }),
  })
  if (statusCode >= 300) throw new Error(`${method} ${url}: ${statusCode} ${body}`)
}

const token = (index: number) => ({ name: `t${index}`, permissions: [], expires_in_days: 9 })

const usernameOf = ({ username = '' }: Record<string, string>): string => username

const organizationInvitations: PagedList = {
  ...resource('organization_invitations', 'invitations', () => ({}), usernameOf),
  async add({ test, alice, rita }, index) {
    const payload = { username: `i${index}`, role: 'member' }
    await succeed(test, 'POST', `${RIVAL}/members`, rita, payload)
    await succeed(test, 'POST', `${ACME}/members`, alice, payload)
  },
}

/** An organization that `alice` does not belong to. */
async function addOrganization({ test }: PagedScene, name: string): Promise<void> {
  const created_at = new Date(test.now()).toISOString()
  await test.store.transaction((writer) =>
    writer.organizations.insert({
      name,
      entitled: true,
      resolve_unlisted_names: false,
      created_at,
    }),
  )
}

const userInvitations: PagedList = {
  name: 'user_invitations',
  url: '/api/v1/user/invitations',
  foreignUrl: '/api/v1/user/invitations',
  keyOf: ({ org = '' }) => org,
  async add(scene, index) {
    await addOrganization(scene, `i${index}`)
    const invitation = { org: `i${index}`, username: 'alice', role: 'member' as const }
    const made = { invited_by: 'operator', created_at: new Date(scene.test.now()).toISOString() }
    await scene.test.store.transaction((writer) =>
      writer.invitations.insert({ ...invitation, ...made }),
    )
  },
  remove: ({ test, alice }, key) =>
    succeed(test, 'DELETE', `/api/v1/user/invitations/${key}`, alice),
}

const userOrganizations: PagedList = {
  name: 'user_organizations',
  url: '/api/v1/user/organizations',
  foreignUrl: '/api/v1/user/organizations',
  keyOf: ({ name = '' }) => name,
  async add(scene, index) {
    await addOrganization(scene, `o${index}`)
    const membership = { org: `o${index}`, username: 'alice', role: 'member' as const }
    await scene.test.store.transaction((writer) => writer.memberships.insert(membership))
  },
  remove: ({ test, alice }, key) =>
    succeed(test, 'DELETE', `/api/v1/orgs/${key}/members/alice`, alice),
}

/** Each rollout ends before the next begins; ended ones stay in the list. */
const rollouts: PagedList = {
  name: 'rollouts',
  url: `${ACME}/rollouts`,
  foreignUrl: `${RIVAL}/rollouts`,
  keyOf: idOf,
  async add({ test, alice }) {
    test.advance(1)
    const payload = { stages: [{ percent: 100 }], max_rejected: { percent: 5 } }
    const made = await test.send('POST', `${ACME}/rollouts`, { as: alice, payload })
    const { id } = made.json<{ id: string }>()
    await succeed(test, 'POST', `${ACME}/rollouts/${id}/finish`, alice)
  },
}

export const PAGED_LISTS: readonly PagedList[] = [
  resource('organization_tokens', 'access-tokens', token),
  resource('personal_tokens', '/api/v1/user/access-tokens', token),
  resource(
    'members',
    'members',
    (index) => ({ username: `m${index}`, role: 'member' }),
    usernameOf,
  ),
  resource('teams', 'teams', (index) => ({ name: `team ${index}` })),
  organizationInvitations,
  userInvitations,
  userOrganizations,
  resource('enrolment_tokens', 'enrolment-tokens', (index) => ({
    name: `e${index}`,
    max_uses: 1,
    expires_in_days: 9,
  })),
  resource('webhooks', 'webhooks', (index) => ({ url: `https://hooks.example.com/${index}` })),
  rollouts,
]
