import type { Prove } from '@palisade/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newProver } from '../test-device.ts'
import { fillPath, pathParameters, type Operation } from './operations.ts'
import {
  kindOf,
  openTwoOrganizations,
  type TwoOrganizations,
  withAccessRequest,
  withRollout,
} from './two-organizations.ts'

let world: TwoOrganizations
let operations: readonly Operation[]
let prove: Prove

beforeAll(async () => {
  world = await openTwoOrganizations()
  prove = newProver(world)
  operations = world.document.operations.filter(
    ({ method, id, security }) =>
      method === 'POST' &&
      security === 'access_token' &&
      !CHANGE_NOTHING.has(id) &&
      !REFUSED_BY_STATE.has(id),
  )
})
afterAll(() => world.close())

/** POST operations without an effect that could be repeated. */
const CHANGE_NOTHING = new Set(['checkAccess', 'replayRecords', 'suggestPolicies'])
/** Operations that take no key: the state that they leave refuses a repetition. */
const REFUSED_BY_STATE = new Set([
  'approveAccessRequest',
  'rejectAccessRequest',
  'revokeAccessRequest',
  'withdrawAccessRequest',
])
/** Operations whose answer has a secret, which is not stored and so cannot be replayed. */
const WITH_SECRETS = new Set([
  'createMember',
  'createOrganizationToken',
  'createEnrolmentToken',
  'createPersonalToken',
  'createWebhook',
  'rotateWebhookSecret',
])
/** Valid bodies for operations whose example conflicts with existing entities. */
const BODIES: Readonly<Record<string, object>> = {
  enrolDevice: { user: 'acme-member' },
  createPolicy: { name: 'made once' },
  createTeam: { name: 'made once' },
  createRule: {
    name: 'made once',
    actions: ['connect:tcp'],
    decision: 'deny',
    resources: ['example.net'],
  },
  applyPolicies: { policies: [{ name: 'applied once', scope: {}, rules: [] }] },
}

async function post(
  operation: Operation,
  key: string,
  options: { as?: string; body?: object } = {},
) {
  const values = pathParameters(operation.path).map(
    (name) => [name, world.acme[kindOf(operation.path, name)]] as const,
  )
  const body = options.body ?? BODIES[operation.id] ?? operation.example
  const path = fillPath(operation.path, Object.fromEntries(values))
  const answer = await world.send('POST', path, {
    as: options.as ?? world.callers.owner,
    // The same machine, with a new proof for each request.
    headers: { 'idempotency-key': key, ...world.proofFor(operation, path, prove) },
    ...(body === null ? {} : { payload: body }),
  })
  world.validate(operation, answer)
  return answer
}

/** Returns the number of events: every effect records one. */
async function countEvents(): Promise<number> {
  const head = await world.store.read(({ events }) => events.head('acme'))
  return head?.sequence ?? 0
}

describe('an idempotency key, at every POST with an effect', () => {
  it('has the effect once, and replays the first answer or says why it cannot', async () => {
    for (const operation of operations) {
      world = await withRollout(world, operation)
      const first = await post(operation, operation.id)
      expect(first.statusCode, `${operation.id}: ${first.body}`).toBeLessThan(300)
      expect(first.headers).not.toHaveProperty('idempotency-replayed')
      const events = await countEvents()

      const again = await post(operation, operation.id)

      expect(await countEvents(), operation.id).toBe(events)
      const isSame = again.statusCode === first.statusCode && again.body === first.body
      const isReplay = isSame && again.headers['idempotency-replayed'] === 'true'
      const isToldWhy = again.statusCode === 409 && again.body.includes('secret')
      expect([isReplay, isToldWhy], `${operation.id}: ${again.body}`).toEqual(
        WITH_SECRETS.has(operation.id) ? [false, true] : [true, false],
      )
      if (operation.body !== null) continue
      const unread = await post(operation, operation.id, { body: { ignored: 'x' } })
      const { 'idempotency-replayed': replayed } = unread.headers
      expect([unread.statusCode, replayed], `${operation.id}: ${unread.body}`).toEqual([
        again.statusCode,
        again.headers['idempotency-replayed'],
      ])
    }
    expect(operations.length).toBeGreaterThan(9)
  })

  it('is not needed where the state refuses a repetition', async () => {
    const decisions = world.document.operations.filter(({ id }) => REFUSED_BY_STATE.has(id))
    expect(decisions).toHaveLength(REFUSED_BY_STATE.size)
    for (const operation of decisions) {
      world = await withAccessRequest(world, operation)
      expect((await post(operation, operation.id)).statusCode, operation.id).toBe(200)
      const events = await countEvents()

      expect((await post(operation, operation.id)).statusCode, operation.id).toBe(409)
      expect(await countEvents(), operation.id).toBe(events)
    }
  })

  it('is refused with another body, and when it is malformed', async () => {
    for (const operation of operations.filter(({ body }) => body !== null)) {
      const body = BODIES[operation.id] ?? operation.example ?? {}
      const [member = '', value] = Object.entries(body)[0] ?? []
      const other = { ...body, [member]: Array.isArray(value) ? [] : 'something-else' }
      const answer = await post(operation, operation.id, { body: other })
      expect([400, 409], `${operation.id}: ${answer.body}`).toContain(answer.statusCode)
    }
    for (const operation of operations) {
      const answer = await post(operation, 'two words')
      expect([answer.statusCode, answer.json().error.field], operation.id).toEqual([
        400,
        'Idempotency-Key',
      ])
    }
  })

  it('has one effect for concurrent requests', async () => {
    const [team] = operations.filter(({ id }) => id === 'createTeam')
    const [token] = operations.filter(({ id }) => id === 'createPersonalToken')
    if (team === undefined || token === undefined) throw new Error('not in the document')
    const teams = await Promise.all(
      Array.from({ length: 8 }, () => post(team, 'race', { body: { name: 'raced for' } })),
    )
    expect(new Set(teams.map(({ body }) => body)).size).toBe(1)
    const tokens = await Promise.all(Array.from({ length: 8 }, () => post(token, 'race')))
    expect(tokens.filter(({ statusCode }) => statusCode === 201)).toHaveLength(1)
    expect(tokens.filter(({ statusCode }) => statusCode === 409)).toHaveLength(7)
  })

  it('belongs to its caller, who still needs the permission', async () => {
    const [team] = operations.filter(({ id }) => id === 'createTeam')
    if (team === undefined) throw new Error('not in the document')
    const body = { name: 'of two callers' }
    expect((await post(team, 'mine', { body })).statusCode).toBe(201)
    const byToken = { as: world.callers.organizationToken, body }
    expect((await post(team, 'mine', byToken)).json().error.message).toContain('already in use')
    const without = await post(team, 'mine', { as: world.callers.member, body })
    expect(without.statusCode).toBe(403)
  })

  it('keeps no information about a password, not even whether it is the same', async () => {
    const [member] = operations.filter(({ id }) => id === 'createMember')
    if (member === undefined) throw new Error('not in the document')
    const body = { username: 'hal', role: 'member', password: 'a long and unusual sentence' }
    expect((await post(member, 'hal', { body })).statusCode).toBe(201)

    const same = await post(member, 'hal', { body })
    const other = await post(member, 'hal', { body: { ...body, password: 'another sentence' } })

    expect([same.statusCode, other.statusCode]).toEqual([409, 409])
    expect(other.json().error.message).toBe(same.json().error.message)
  })

  it('replays the creation of a member without a password', async () => {
    const [member] = operations.filter(({ id }) => id === 'createMember')
    if (member === undefined) throw new Error('not in the document')
    const body = { username: 'ida', role: 'member' }
    const answers = [await post(member, 'ida', { body }), await post(member, 'ida', { body })]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201])
    expect(answers[1]?.headers['idempotency-replayed']).toBe('true')
  })
})
