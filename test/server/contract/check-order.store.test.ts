import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fillPath, pathParameters, type Operation } from './operations.ts'
import {
  kindOf,
  UNKNOWN,
  openTwoOrganizations,
  type TwoOrganizations,
} from './two-organizations.ts'

let world: TwoOrganizations

beforeAll(async () => {
  world = await openTwoOrganizations()
})
afterAll(() => world.close())

/** The order in which faults are reported. A request has one fault and all later ones. */
const CHECK_ORDER = [
  'caller',
  'organization',
  'permission',
  'resource',
  'media type',
  'body',
  'query',
] as const
type Fault = (typeof CHECK_ORDER)[number]

/** Operations for every member, some only about themselves: their 403 depends on the subject. */
const FOR_MEMBERS = new Set([
  'getOrganization',
  'checkAccess',
  'getEffectivePolicy',
  'enrolDevice',
  'revokeDevice',
  'listAuditLogs',
  'listAccessRequests',
  'createAccessRequest',
  'getAccessRequest',
  'withdrawAccessRequest',
  'approveAccessRequest',
  'rejectAccessRequest',
  'revokeAccessRequest',
  'downloadAuditLog',
])

/** Tells whether a request of the operation can have the fault. */
function applies(fault: Fault, operation: Operation): boolean {
  const parameters = pathParameters(operation.path)
  switch (fault) {
    case 'organization':
      return parameters.includes('org')
    case 'permission':
      return !FOR_MEMBERS.has(operation.id)
    case 'resource':
      return parameters.some((name) => name !== 'org')
    case 'media type':
    case 'body':
      return operation.body !== null
    case 'caller':
    case 'query':
      return true
  }
}

const EXPECTED: Readonly<Record<Fault, string>> = {
  caller: '401 unauthenticated Bearer',
  organization: '404 not_found',
  permission: '403 permission_denied',
  resource: '404 not_found',
  'media type': '415 invalid_argument',
  body: '400 invalid_argument',
  query: '400 invalid_argument',
}

/** Sends the operation with the fault `first` and all later ones. */
async function refusal(operation: Operation, first: Fault): Promise<string> {
  const has = (fault: Fault) => CHECK_ORDER.indexOf(fault) >= CHECK_ORDER.indexOf(first)
  const values = pathParameters(operation.path).map((name) => {
    const kind = kindOf(operation.path, name)
    const isWrong = has(name === 'org' ? 'organization' : 'resource')
    return [name, (isWrong ? UNKNOWN : world.acme)[kind]] as const
  })
  const url = fillPath(operation.path, Object.fromEntries(values))
  const caller = has('permission') ? unprivilegedCaller(operation) : world.callers.owner
  const answer = await world.send(operation.method, has('query') ? `${url}?unknown=1` : url, {
    ...(has('caller') ? {} : { as: caller }),
    headers: has('media type') ? { 'content-type': 'text/plain' } : {},
    ...(operation.example === null
      ? {}
      : { payload: has('body') ? { 'unknown member': 1 } : operation.example }),
  })
  world.validate(operation, answer)
  const { code } = answer.json<{ error: { code: string } }>().error
  return [answer.statusCode, code, answer.headers['www-authenticate']].join(' ').trim()
}

/** Returns an authenticated caller without the permission. */
function unprivilegedCaller({ path }: Operation): string {
  return path.startsWith('/api/v1/user/') ? world.callers.organizationToken : world.callers.member
}

describe('the order of checks, at every endpoint', () => {
  it.each(CHECK_ORDER)('reports the fault of the %s before any later one', async (fault) => {
    const operations = world.document.operations.filter(
      (operation) => operation.security === 'access_token' && applies(fault, operation),
    )
    expect(operations.length).toBeGreaterThan(5)
    const found = await Promise.all(
      operations.map(async (operation) => `${operation.id}: ${await refusal(operation, fault)}`),
    )
    expect(found).toEqual(operations.map(({ id }) => `${id}: ${EXPECTED[fault]}`))
  })
})
