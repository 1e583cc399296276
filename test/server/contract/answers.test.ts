import { DEFAULT_ACCESS_SETTINGS, DEFAULT_EVIDENCE_SETTINGS } from '@palisade/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HEADER, linesOf, recordOf, textOf } from '../evidence/ingest/batch-text.ts'
import { enrolTestDevice, type TestDevice } from '../test-device.ts'
import { fillPath, pathParameters, type Operation } from './operations.ts'
import {
  kindOf,
  openTwoOrganizations,
  withAccessRequest,
  withRollout,
  type TwoOrganizations,
} from './two-organizations.ts'

const PASSWORD = 'correct horse battery'
const NEW_PASSWORD = 'another long sentence'

let world: TwoOrganizations

beforeAll(async () => {
  world = await openTwoOrganizations()
})
afterAll(() => world.close())

/** Valid bodies for operations whose example conflicts with existing entities. */
const BODIES: Readonly<Record<string, object>> = {
  createAccessToken: { username: 'acme-member', password: PASSWORD },
  createMember: { username: 'new-member', role: 'member' },
  createRule: { name: 'new', actions: ['connect:tcp'], decision: 'deny', resources: ['a.test'] },
  createTeam: { name: 'new' },
  enrolDevice: { user: 'acme-member' },
  checkAccess: { request: { action: 'connect:tcp', host: 'a.test', port: 1 }, teams: [] },
  changePassword: { password: PASSWORD, new_password: NEW_PASSWORD },
  applyPolicies: {
    policies: [{ name: 'first', scope: { teams: ['backend'] }, rules: [] }],
    dry_run: true,
  },
  uploadRecords: Buffer.from(textOf(HEADER, linesOf([recordOf()]))),
}
/** Query parameters without which the operation is refused. */
const QUERIES: Readonly<Record<string, string>> = {
  deleteTeam: '?detach=policies&sole=delete',
  getEffectivePolicy: '?user=acme-member',
}

/** Orders operations: reads, then creations, then deletions of parts before those of wholes. */
function rank({ method, path }: Operation): number {
  const depth = pathParameters(path).length
  if (method === 'GET') return 0
  return method === 'DELETE' ? 100 - depth : depth
}

/** Expected status: 201 for a creating POST, 204 for DELETE in `/api/v1`, 200 for others. */
function successOf({ id, method, path }: Operation): number {
  if (method === 'DELETE' && path.startsWith('/api/v1/')) return 204
  return /^(?:create(?!AccessToken$|DeviceToken$)|enrol|start)/.test(id) ? 201 : 200
}

async function callerOf({ id, security }: Operation): Promise<string | TestDevice | undefined> {
  if (id === 'changePassword') return world.callers.member
  if (security === 'access_token') return world.callers.owner
  if (security !== 'device_token') return undefined
  return enrolTestDevice(world, world.callers.owner, 'acme', { user: world.acme.username })
}

/** Returns a media type, or the proof of possession for operations without another credential. */
function headersFor(operation: Operation, path: string): Record<string, string> {
  if (operation.id === 'uploadRecords') return { 'content-type': 'application/x-ndjson' }
  if (operation.security === 'device_token') return {}
  const isOfDevice = operation.id === 'createDeviceToken'
  return world.proofFor(operation, path, isOfDevice ? world.device.prove : undefined)
}

/** Returns the body; the secret of an enrolment differs from run to run. */
function bodyOf({ id, example }: Operation): object | null {
  return id === 'enrolMachine' ? { token: world.enrolmentSecret } : (BODIES[id] ?? example)
}

describe('every operation of the document', () => {
  it('succeeds as the document says: status, headers and body', async () => {
    const operations = world.document.operations.toSorted((a, b) => rank(a) - rank(b))
    const statuses: string[] = []
    for (const operation of operations) {
      world = await withRollout(await withAccessRequest(world, operation), operation)
      if (operation.id === 'declineInvitation')
        await world.store.transaction(({ invitations }) =>
          invitations.insert({
            org: world.acme.inviting,
            username: 'olga',
            role: 'member',
            invited_by: 'operator',
            created_at: '2026-11-21T08:00:00.000Z',
          }),
        )
      const values = pathParameters(operation.path).map(
        (name) => [name, world.acme[kindOf(operation.path, name)]] as const,
      )
      const payload = bodyOf(operation)
      const as = await callerOf(operation)
      const path = fillPath(operation.path, Object.fromEntries(values))
      const url = `${path}${QUERIES[operation.id] ?? ''}`
      const answer = await world.send(operation.method, url, {
        ...(as === undefined ? {} : { as }),
        headers: headersFor(operation, path),
        ...(payload === null ? {} : { payload }),
      })
      world.validate(operation, answer)
      if (answer.statusCode !== successOf(operation))
        statuses.push(`${operation.id}: ${answer.statusCode} ${answer.body}`)
    }
    expect(statuses).toEqual([])
  })

  it('is checked by a validator that detects a deviation in any part of an answer', () => {
    const get = world.document.operations.find(({ id }) => id === 'getOrganization')
    if (get === undefined) throw new Error('not in the document')
    const headers = { 'content-type': 'application/json', 'x-request-id': 'r' }
    const body = {
      name: 'acme',
      entitled: true,
      resolve_unlisted_names: false,
      distribution: { fresh_for_seconds: 3600, expires_after_seconds: 3600, offline_allow: [] },
      evidence: DEFAULT_EVIDENCE_SETTINGS,
      access: DEFAULT_ACCESS_SETTINGS,
      revision: 1,
      created_at: '2026-11-21T08:00:00.250Z',
    }
    const validate = (answer: { headers?: object; body?: object; statusCode?: number }) => () =>
      world.validate(get, {
        statusCode: answer.statusCode ?? 200,
        headers: { ...headers, ...answer.headers },
        body: JSON.stringify(answer.body ?? body),
      })
    expect(validate({})).not.toThrow()
    expect(validate({ body: { ...body, more: 1 } })).toThrow('more')
    expect(validate({ body: { ...body, created_at: 'then' } })).toThrow('created_at')
    expect(validate({ headers: { etag: '"1"' } })).toThrow('does not announce `etag`')
    expect(validate({ headers: { 'x-request-id': undefined } })).toThrow(
      '`x-request-id` is missing',
    )
    expect(validate({ headers: { 'x-request-id': 'a b' } })).toThrow('`x-request-id` is "a b"')
    expect(validate({ statusCode: 409 })).toThrow('does not list this status')
  })
})
