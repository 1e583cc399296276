import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newProver, TEST_ORIGIN, type TestDevice } from '../test-device.ts'
import { fillPath, pathParameters, type Method, type Operation } from './operations.ts'
import {
  kindOf,
  UNKNOWN,
  openTwoOrganizations,
  type IdentifierKind,
  type Identifiers,
  type TwoOrganizations,
} from './two-organizations.ts'

let world: TwoOrganizations

beforeAll(async () => {
  world = await openTwoOrganizations()
})
afterAll(() => world.close())

/** Callers with all permissions, so that only 404 can be the reason of a refusal. */
const ADMINISTRATORS = ['owner', 'personalToken', 'organizationToken', 'device'] as const

/** Organizations have no personal tokens. */
const NOT_FOR_ORGANIZATIONS = /^\/api\/v1\/user\//

/** Returns the identifiers of an operation that are to be replaced by foreign ones. */
function substitutions(operation: Operation): IdentifierKind[] {
  // Metadata versions and revisions are numbers that exist in every organization.
  return pathParameters(operation.path)
    .map((name) => kindOf(operation.path, name))
    .filter((kind) => kind !== 'metadata_file' && kind !== 'revision')
}

function callersOf({ security }: Operation): [string, string | TestDevice][] {
  return security === 'device_token' ? [['device', world.device]] : Object.entries(world.callers)
}

function urlOf(operation: Operation, identifiers: Identifiers): string {
  const values = pathParameters(operation.path).map((name) => {
    return [name, identifiers[kindOf(operation.path, name)]] as const
  })
  return fillPath(operation.path, Object.fromEntries(values))
}

async function ask(operation: Operation, identifiers: Identifiers, as: string | TestDevice) {
  const headers = { 'x-request-id': 'same', 'content-type': 'application/json' }
  const url = urlOf(operation, identifiers)
  const answer = await world.send(operation.method, url, {
    as,
    headers,
    ...(operation.example === null ? {} : { payload: operation.example }),
  })
  world.validate(operation, answer)
  const { date: _date, ...rest } = answer.headers
  return { status: answer.statusCode, headers: rest, body: answer.body }
}

/** A time of use is written some time after the request, such as one of an earlier test. */
const WRITTEN_LATER = /"last_(?:seen|used)_at":(?:null|"[^"]*"),?/g

/** Reads everything that the owner of the rival organization can see. */
async function snapshot(): Promise<string[]> {
  const { operations } = world.document
  const reads = operations.filter(
    ({ method, path, security }) =>
      method === 'GET' && security === 'access_token' && path.includes('{org}'),
  )
  const answers = await Promise.all(
    reads.map((operation) =>
      world.send('GET', urlOf(operation, world.rival), { as: world.rivalOwner }),
    ),
  )
  for (const { statusCode } of answers) expect(statusCode).toBe(200)
  return answers.map(({ body }) => body.replaceAll(WRITTEN_LATER, ''))
}

describe('another organization', () => {
  it('looks like one that does not exist, at every endpoint, with every credential', async () => {
    // The first one leaves an event, because reading the audit log is one.
    await snapshot()
    const before = await snapshot()
    let asked = 0
    for (const operation of world.document.operations)
      for (const kind of substitutions(operation))
        for (const [caller, as] of callersOf(operation)) {
          const title = `${operation.id} with ${kind} as ${caller}`
          // With a foreign organization all other identifiers are foreign too.
          const base = kind === 'org' ? world.rival : world.acme
          const foreign = { ...base, [kind]: world.rival[kind] }
          const none = { ...base, [kind]: UNKNOWN[kind] }
          const answers = [
            await ask(operation, foreign, as),
            await ask(operation, none, as),
          ] as const
          expect(answers[0], title).toEqual(answers[1])
          const expected = mayAsk(caller, operation) ? [404] : [403, 404]
          expect(expected, title).toContain(answers[0].status)
          asked += 1
        }
    expect(asked).toBeGreaterThan(180)
    expect(await snapshot()).toEqual(before)
  })
})

function mayAsk(caller: string, { path }: Operation): boolean {
  if (caller === 'organizationToken' && NOT_FOR_ORGANIZATIONS.test(path)) return false
  return (ADMINISTRATORS as readonly string[]).includes(caller)
}

describe('an identifier of another organization', () => {
  const REQUEST = { action: 'connect:tcp', host: 'example.com', port: 443 }
  const ACME = '/api/v1/orgs/acme'
  const POLICIES = '/v2/orgs/acme/governance/policies'

  /** Positions of identifiers other than the path. */
  const POSITIONS: readonly [string, (ids: Identifiers) => [Method, string, object?]][] = [
    [
      'scope of a new policy',
      ({ team }) => ['POST', POLICIES, { name: 'x', scope: { teams: [team] } }],
    ],
    [
      'teams of a check',
      ({ team }) => ['POST', `${ACME}/check`, { teams: [team], request: REQUEST }],
    ],
    [
      'user of a check',
      ({ username }) => ['POST', `${ACME}/check`, { user: username, request: REQUEST }],
    ],
    [
      'user of an effective policy',
      ({ username }) => ['GET', `${ACME}/effective-policy?user=${username}`],
    ],
    ['user of a device', ({ username }) => ['POST', `${ACME}/devices`, { user: username }]],
  ]

  it.each(POSITIONS)('as %s is refused like an unknown one', async (_title, request) => {
    const answers = await Promise.all(
      [world.rival, UNKNOWN].map(async (identifiers) => {
        const [method, url, payload] = request(identifiers)
        const dpop = newProver(world)({ method, url: TEST_ORIGIN + url })
        const headers = { 'x-request-id': 'same', dpop }
        const answer = await world.send(method, url, {
          as: world.callers.owner,
          headers,
          ...(payload === undefined ? {} : { payload }),
        })
        const body = answer.body
          .replaceAll(identifiers.team, 'T')
          .replaceAll(identifiers.username, 'U')
        return { status: answer.statusCode, body }
      }),
    )
    expect([400, 404]).toContain(answers[0]?.status)
    expect(answers[0]).toEqual(answers[1])
  })

  it('is refused in the scope of an existing policy too', async () => {
    const { acme, rival, callers, send } = world
    const url = `${POLICIES}/${acme.policy_id}`
    const payload = { scope: { teams: [acme.team, rival.team] } }
    const answer = await send('PATCH', url, { as: callers.owner, payload })
    expect(answer.statusCode).toBe(400)
    expect(answer.json().error.message).toContain(rival.team)
  })

  it('does not occur in answers to members of an organization', async () => {
    // Names of metadata files and revisions may be the same in both organizations.
    const { org: _org, metadata_file: _file, revision: _number, ...foreign } = world.rival
    for (const operation of world.document.operations.filter(({ method }) => method === 'GET'))
      for (const as of Object.values(world.callers)) {
        const { body } = await ask(operation, world.acme, as)
        for (const identifier of Object.values(foreign)) expect(body).not.toContain(identifier)
      }
  })

  it('cannot be reached by an idempotency key or a page token either', async () => {
    const { acme, createOrganization, callers, send } = world
    await createOrganization('twin', 'olga')
    const as = callers.owner
    const headers = { 'idempotency-key': 'one' }
    const create = (org: string) =>
      send('POST', `/v2/orgs/${org}/governance/policies`, { as, headers, payload: { name: 'a' } })
    const created = [await create('acme'), await create('twin')]
    expect(created.map(({ statusCode }) => statusCode)).toEqual([201, 201])
    expect(created[1]?.headers).not.toHaveProperty('idempotency-replayed')

    const list = (org: string, query: string) =>
      send('GET', `/v2/orgs/${org}/governance/policies?${query}`, { as })
    const token = (await list(acme.org, 'page_size=1')).json().next_page_token as string
    expect((await list('acme', `page_token=${token}`)).statusCode).toBe(200)
    expect((await list('twin', `page_token=${token}`)).statusCode).toBe(400)
  })
})
