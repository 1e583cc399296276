import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAccessService } from '../../../../server/src/fleet/access/access-service.ts'
import { createWorkBudget } from '../../../../server/src/work/work-budget.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { freshName } from '../../fresh-name.ts'
import { openOwner } from '../../owner.ts'
import { enrolTestDevice, headersOf } from '../../test-device.ts'
import { startInProcess } from '../../in-process-worker.ts'
import type { TestServer } from '../../test-server.ts'
import {
  openAccessScene,
  openAccessServer,
  PASSWORD,
  WANTED,
  type AccessScene,
} from './access-scene.ts'

const HOUR_MS = 60 * 60_000

describe('access requests', () => {
  let test: TestServer
  let scene: AccessScene

  beforeAll(async () => {
    test = await openAccessServer()
  })
  beforeEach(async () => {
    scene = await openAccessScene(test)
  })

  const statusOf = async (path: string, as: string, payload?: object) =>
    (await scene.post(path, as, payload)).statusCode
  const refusal = async (path: string, as: string, payload: object) => {
    const answer = await scene.post(path, as, payload)
    const { error } = answer.json<{ error: { message: string; field?: string } }>()
    return [answer.statusCode, error.field, error.message]
  }
  const answer = { answer: 'not for this' }
  /** The time of the server after so many seconds, in whole seconds. */
  const timeIn = (seconds: number) =>
    new Date(test.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
  async function addMember(prefix: string): Promise<{ name: string; as: string }> {
    const name = freshName(prefix)
    return { name, as: await scene.owner.addMember(name, 'member', PASSWORD) }
  }

  it('go from a request by an approval to a grant on the machines of the user', async () => {
    const made = await scene.post(scene.paths.requests, scene.bob, WANTED)
    expect(made.json()).toMatchObject({
      username: scene.names.bob,
      device_id: null,
      state: 'pending',
      once: false,
      decided_at: null,
      grant: null,
    })
    const { id } = made.json<{ id: string }>()
    const before = await scene.assignment()
    expect(before).not.toHaveProperty('grants')

    const approved = await scene.approve(id, { answer: 'for the release' })

    const grant = {
      id,
      action: 'connect:tcp',
      resources: WANTED.resources,
      not_before: timeIn(0),
      expires_at: timeIn(3600),
    }
    expect(approved).toMatchObject({
      state: 'approved',
      decided_by: `user:${scene.names.alice}`,
      answer: 'for the release',
      grant,
      review: { resources: [{ resource: WANTED.resources[0], effect: 'opens' }] },
    })
    const after = await scene.assignment()
    expect(after.grants).toEqual([grant])
    expect(after.version).toBeGreaterThan(before.version)
    expect(await scene.kinds()).toEqual(['access.requested', 'access.approved'])
  })

  it('are for all machines of the user, and for no other', async () => {
    const second = await enrolTestDevice(test, scene.bob, scene.org, { user: scene.names.bob })
    const others = await enrolTestDevice(test, scene.owner.as, scene.org, {
      user: scene.names.alice,
    })

    await scene.approve(await scene.ask())
    const late = await enrolTestDevice(test, scene.bob, scene.org, { user: scene.names.bob })

    expect(await scene.grants(second)).toHaveLength(1)
    expect(await scene.grants(late)).toHaveLength(1)
    expect(await scene.grants(others)).toEqual([])
  })

  it('are approved narrower, shorter and once, and never wider or longer', async () => {
    const id = await scene.ask({ resources: ['*.example.com:443'] })
    const path = `${scene.paths.requests}/${id}/approve`

    expect(await refusal(path, scene.owner.as, { resources: ['*.example.com'] })).toEqual([
      400,
      'resources',
      '`resources` must open no more than the requested ones',
    ])
    expect(await refusal(path, scene.owner.as, { duration_seconds: 3601 })).toEqual([
      400,
      'duration_seconds',
      '`duration_seconds` must be at most 3600, as requested',
    ])
    const { grant } = await scene.approve(id, {
      resources: ['a.example.com:443'],
      duration_seconds: 60,
      once: true,
    })

    expect(grant).toMatchObject({
      resources: ['a.example.com:443'],
      expires_at: timeIn(60),
      once: true,
    })
    expect(await scene.grants()).toEqual([grant])
  })

  it('are approved for no other meaning of `~` than the machine of the requester has', async () => {
    for (const [asked, granted] of [
      ['~/project/**', '/home/user/project/**'],
      ['/home/user/project/**', '~/project/**'],
      ['/home/*/project/**', '~/project/**'],
      ['~/project/**', '/home/*/project/**'],
      ['/home/*/project/** /Users/*/project/** /root/project/**', '~/project/**'],
    ] as const) {
      const id = await scene.ask({ action: 'read', resources: asked.split(/ (?=\/)/) })
      const path = `${scene.paths.requests}/${id}/approve`

      expect(await refusal(path, scene.owner.as, { resources: [granted] })).toEqual([
        400,
        'resources',
        '`resources` must open no more than the requested ones',
      ])
    }
    const id = await scene.ask({ action: 'read', resources: ['~/project/**'] })
    const { grant } = await scene.approve(id, { resources: ['~/project/src/**'] })
    expect(grant?.resources).toEqual(['~/project/src/**'])
  })

  it('are spent once only by connections', async () => {
    const files = { action: 'read', resources: ['/data/project/**'] }
    const message = '`once` is for connections only; ask for a short time instead'

    expect(
      await refusal(scene.paths.requests, scene.bob, { ...WANTED, ...files, once: true }),
    ).toEqual([400, 'once', message])
    const id = await scene.ask(files)
    expect(
      await refusal(`${scene.paths.requests}/${id}/approve`, scene.owner.as, { once: true }),
    ).toEqual([400, 'once', message])
    expect((await scene.approve(id)).grant).not.toHaveProperty('once')
  })

  it('have one answer: of two approvers one wins, and the other gets 409', async () => {
    const editor = await scene.owner.addMember(freshName('eve'), 'editor', PASSWORD)
    const id = await scene.ask()

    const answers = await Promise.all([
      scene.post(`${scene.paths.requests}/${id}/approve`, scene.owner.as, {}),
      scene.post(`${scene.paths.requests}/${id}/approve`, editor, {}),
      scene.post(`${scene.paths.requests}/${id}/reject`, editor, answer),
    ])

    const statuses = answers.map(({ statusCode }) => statusCode)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409, 409])
    expect(await scene.kinds()).toHaveLength(2)
  })

  it('are rejected with words that reach the requester', async () => {
    const id = await scene.ask()

    expect(await statusOf(`${scene.paths.requests}/${id}/reject`, scene.owner.as, {})).toBe(400)
    expect(await statusOf(`${scene.paths.requests}/${id}/reject`, scene.owner.as, answer)).toBe(200)

    expect(await scene.get(id, scene.bob)).toMatchObject({ state: 'rejected', ...answer })
    expect(await statusOf(`${scene.paths.requests}/${id}/approve`, scene.owner.as, {})).toBe(409)
    expect(await scene.grants()).toEqual([])
  })

  it('lose a revoked grant at once, with another version of the assignment', async () => {
    const id = await scene.ask()
    expect(await statusOf(`${scene.paths.requests}/${id}/revoke`, scene.owner.as, answer)).toBe(409)
    await scene.approve(id)
    const before = await scene.assignment()

    expect(await statusOf(`${scene.paths.requests}/${id}/revoke`, scene.owner.as, answer)).toBe(200)

    const after = await scene.assignment()
    expect(after).not.toHaveProperty('grants')
    expect(after.version).toBeGreaterThan(before.version)
    expect(await statusOf(`${scene.paths.requests}/${id}/revoke`, scene.owner.as, answer)).toBe(409)
  })

  it('are withdrawn by their requester alone, before the answer', async () => {
    const id = await scene.ask()

    expect(await statusOf(`${scene.paths.requests}/${id}/withdraw`, scene.owner.as)).toBe(403)
    expect(await statusOf(`${scene.paths.requests}/${id}/withdraw`, scene.bob)).toBe(200)

    expect((await scene.get(id)).state).toBe('withdrawn')
    expect(await statusOf(`${scene.paths.requests}/${id}/withdraw`, scene.bob)).toBe(409)
  })

  it('expire and lapse by the clock of the server, each once', async () => {
    await scene.approve(await scene.ask({ duration_seconds: 60 }))
    const left = await scene.ask()
    test.advance(60_000)
    expect(await scene.grants()).toEqual([])

    await scene.endDue()
    test.advance(24 * HOUR_MS)
    const late = await scene.post(`${scene.paths.requests}/${left}/approve`, await aliceAgain(), {})
    expect(late.statusCode).toBe(409)
    await Promise.all([scene.endDue(), scene.endDue()])

    const events = await test.store.read(async ({ accessRequests }) =>
      accessRequests.page(scene.org, {
        before: '',
        limit: 10,
        state: null,
        username: null,
        seenBy: null,
      }),
    )
    expect(events.map(({ state }) => state).toSorted()).toEqual(['expired', 'lapsed'])
    const kinds = await kindsOf()
    expect(kinds.slice(-2)).toEqual(['access.expired', 'access.lapsed'])
    expect(kinds).toHaveLength(5)
  })

  const aliceAgain = () => test.signIn(scene.names.alice, scene.owner.personalToken)
  const kindsOf = async () => {
    const url = `${scene.paths.org}/events`
    const sent = await test.send('GET', url, { as: await aliceAgain() })
    const { data } = sent.json<{ data: { kind: string }[] }>()
    return data.map(({ kind }) => kind).filter((kind) => kind.startsWith('access.'))
  }

  describe('are answered', () => {
    const teams = () => `${scene.paths.org}/teams`
    const newTeam = async (member: string | null) => {
      const made = await scene.post(teams(), scene.owner.as, { name: `team ${member}` })
      const { id } = made.json<{ id: string }>()
      const as = scene.owner.as
      if (member !== null) await test.send('PUT', `${teams()}/${id}/members/${member}`, { as })
      return id
    }
    const put = (team: string, username: string) =>
      test.send('PUT', `${teams()}/${team}/approvers/${username}`, { as: scene.owner.as })

    it('by an approver of a team of the requester, until the approver is removed', async () => {
      const dan = await addMember('dan')
      const [own, other] = [await newTeam(scene.names.bob), await newTeam(null)]
      const [first, second] = [await scene.ask(), await scene.ask()]
      await put(other, dan.name)
      expect(await statusOf(`${scene.paths.requests}/${first}/approve`, dan.as, {})).toBe(404)

      expect((await put(own, dan.name)).json()).toEqual({ username: dan.name })
      const list = await test.send('GET', `${teams()}/${own}/approvers`, { as: scene.owner.as })
      expect(list.json()).toEqual({ data: [{ username: dan.name }], next_page_token: null })
      expect((await scene.get(first, dan.as)).review).not.toBeNull()
      expect(await statusOf(`${scene.paths.requests}/${first}/approve`, dan.as, {})).toBe(200)

      const url = `${teams()}/${own}/approvers/${dan.name}`
      const removed = await test.send('DELETE', url, { as: scene.owner.as })
      expect(removed.statusCode).toBe(204)
      expect(await statusOf(`${scene.paths.requests}/${second}/approve`, dan.as, {})).toBe(404)
      expect(await statusOf(`${scene.paths.requests}/${first}/revoke`, dan.as, answer)).toBe(404)
    })

    it('by no approver without membership, nor for a requester outside the team', async () => {
      const dan = await addMember('dan')
      const team = await newTeam(scene.names.bob)
      await put(team, dan.name)
      const id = await scene.ask()
      const as = scene.owner.as
      await test.send('DELETE', `${teams()}/${team}/members/${scene.names.bob}`, { as })
      expect(await statusOf(`${scene.paths.requests}/${id}/approve`, dan.as, {})).toBe(404)
      await test.send('PUT', `${teams()}/${team}/members/${scene.names.bob}`, { as })

      await test.send('DELETE', `${scene.paths.org}/members/${dan.name}`, { as })

      expect(await statusOf(`${scene.paths.requests}/${id}/approve`, dan.as, {})).toBe(404)
      expect((await put(team, 'nobody')).statusCode).toBe(404)
    })

    it('by nobody for oneself but an owner', async () => {
      const eve = await scene.owner.addMember(freshName('eve'), 'editor', PASSWORD)
      const dan = await addMember('dan')
      await put(await newTeam(dan.name), dan.name)
      const [ofEve, ofDan] = [await scene.ask({}, eve), await scene.ask({}, dan.as)]
      const ofOwner = await scene.ask({}, scene.owner.as)

      expect(await statusOf(`${scene.paths.requests}/${ofEve}/approve`, eve, {})).toBe(403)
      expect(await statusOf(`${scene.paths.requests}/${ofDan}/approve`, dan.as, {})).toBe(403)
      expect(await statusOf(`${scene.paths.requests}/${ofOwner}/approve`, scene.owner.as, {})).toBe(
        200,
      )
      expect(await statusOf(`${scene.paths.requests}/${ofDan}/approve`, eve, {})).toBe(200)
    })

    it('by no auditor or member, who see as much as their role', async () => {
      const aud = await scene.owner.addMember(freshName('aud'), 'auditor', PASSWORD)
      const dan = await addMember('dan')
      const id = await scene.ask()

      expect(await statusOf(`${scene.paths.requests}/${id}/approve`, aud, {})).toBe(403)
      expect((await scene.get(id, aud)).review).toBeNull()
      expect(await statusOf(`${scene.paths.requests}/${id}/approve`, dan.as, {})).toBe(404)
      expect(await statusOf(`${scene.paths.requests}/${id}/approve`, scene.bob, {})).toBe(403)
      expect((await scene.get(id, scene.bob)).review).toBeNull()
    })

    it('by an organization token with `policies:write`, which itself never asks', async () => {
      const token = await scene.owner.organizationToken(['policies:read', 'policies:write'])
      const reader = await scene.owner.organizationToken(['policies:read'])
      const id = await scene.ask()

      expect(await statusOf(scene.paths.requests, token, WANTED)).toBe(403)
      expect(await statusOf(`${scene.paths.requests}/${id}/approve`, reader, {})).toBe(403)
      expect((await scene.approve(id, {}, token)).decided_by).toMatch(
        new RegExp(`^organization:${scene.org}:`),
      )
    })
  })

  it('are listed by state and user, a member seeing only their own', async () => {
    const dan = await addMember('dan')
    const first = await scene.ask()
    test.advance(1)
    const second = await scene.ask()
    test.advance(1)
    await scene.ask({}, dan.as)
    await scene.approve(first)
    const list = async (query: string, as = scene.owner.as) => {
      const sent = await test.send('GET', `${scene.paths.requests}${query}`, { as })
      return sent.json<{ data: { id: string; username: string }[] }>().data
    }

    expect(await list('')).toHaveLength(3)
    expect((await list('?state=approved')).map(({ id }) => id)).toEqual([first])
    expect((await list(`?username=${scene.names.bob}`)).map(({ id }) => id)).toEqual([
      second,
      first,
    ])
    expect((await list('', dan.as)).map(({ username }) => username)).toEqual([dan.name])
    expect(await list(`?username=${scene.names.bob}`, dan.as)).toEqual([])
    expect((await list('?page_size=1')).map(({ username }) => username)).toEqual([dan.name])
  })

  it('are bounded by the limits of the organization', async () => {
    const as = scene.owner.as
    const limits = { longest_seconds: 600, most_open: 1, answer_within_seconds: 60 }
    const changed = await test.send('PATCH', scene.paths.org, {
      as,
      payload: { access: limits },
    })
    expect(changed.json()).toMatchObject({ access: limits })

    expect(await refusal(scene.paths.requests, scene.bob, WANTED)).toEqual([
      400,
      'duration_seconds',
      '`duration_seconds` must be at most 600, the longest of this organization',
    ])
    const [first, second] = [
      await scene.ask({ duration_seconds: 60 }),
      await scene.ask({ duration_seconds: 60 }),
    ]
    await scene.approve(first)
    expect(await refusal(`${scene.paths.requests}/${second}/approve`, as, {})).toEqual([
      403,
      undefined,
      `\`${scene.names.bob}\` has 1 grants in force, and 1 are the most; ` +
        'revoke one, or wait until one ends',
    ])
  })

  it('are at most twenty without an answer', async () => {
    for (let count = 0; count < 20; count += 1) await scene.ask()

    expect(await statusOf(scene.paths.requests, scene.bob, WANTED)).toBe(403)
    expect(await statusOf(scene.paths.requests, scene.owner.as, WANTED)).toBe(201)
  })

  it('have no grant that a deny closes entirely, and say where it closes a part', async () => {
    const as = scene.owner.as
    const made = await scene.post(scene.paths.policies, as, { name: 'denies' })
    const { id } = made.json<{ id: string }>()
    const denied = await scene.post(`${scene.paths.policies}/${id}/rules`, as, {
      name: 'no registry',
      actions: ['connect:tcp'],
      decision: 'deny',
      resources: ['registry.example.com', 'a.internal.example.com'],
    })
    expect(denied.statusCode, denied.body).toBe(201)
    const closed = await scene.ask()
    const partly = await scene.ask({ resources: ['*.internal.example.com:443'] })

    expect(await refusal(`${scene.paths.requests}/${closed}/approve`, as, {})).toMatchObject([
      400,
      'resources',
      expect.stringMatching(/^a deny in the policies/),
    ])
    expect((await scene.get(closed)).review?.resources).toMatchObject([{ effect: 'denied' }])
    expect((await scene.approve(partly)).review?.resources).toMatchObject([
      { effect: 'partly_denied' },
    ])
  })

  it('have a review where the policies have the highest cost of path patterns', async () => {
    const as = scene.owner.as
    const { id } = (await scene.post(scene.paths.policies, as, { name: 'files' })).json<{
      id: string
    }>()
    const written = await scene.post(`${scene.paths.policies}/${id}/rules`, as, {
      name: 'expensive',
      actions: ['read'],
      decision: 'allow',
      resources: ['a', 'b', 'c', 'd'].map((name) => `/srv/**/x${'/*'.repeat(55)}/**/${name}`),
    })
    expect(written.statusCode, written.body).toBe(201)
    const resources = [`/data/**/y${'/*'.repeat(20)}/**/z`]
    const asked = await scene.ask({ action: 'read', resources })

    expect((await scene.get(asked)).review?.resources).toHaveLength(1)
    expect((await scene.approve(asked)).grant?.resources).toEqual(resources)
  })

  it('of a removed member end, and do not come back with the member', async () => {
    const [granted, pending] = [await scene.ask(), await scene.ask()]
    await scene.approve(granted)
    const as = scene.owner.as

    await test.send('DELETE', `${scene.paths.org}/members/${scene.names.bob}`, { as })

    expect((await scene.get(granted)).state).toBe('revoked')
    expect((await scene.get(pending)).state).toBe('rejected')
    await scene.post(`${scene.paths.org}/members`, as, {
      username: scene.names.bob,
      role: 'member',
    })
    const again = await test.signIn(scene.names.bob, PASSWORD)
    const device = await enrolTestDevice(test, again, scene.org, { user: scene.names.bob })
    expect(await scene.grants(device)).toEqual([])
  })

  it('are unknown to other organizations', async () => {
    const theirs = freshName('rival')
    const rival = await openOwner(test, theirs, freshName('rita'))
    const id = await scene.ask()
    const foreign = `/api/v1/orgs/${theirs}/access-requests`

    expect(await statusOf(`${scene.paths.requests}/${id}/approve`, rival.as, {})).toBe(404)
    expect(await statusOf(`${foreign}/${id}/approve`, rival.as, {})).toBe(404)
    const list = await test.send('GET', foreign, { as: rival.as })
    expect(list.json()).toEqual({ data: [], next_page_token: null })
  })

  describe('of a machine', () => {
    const URL = '/api/v1/device/access-requests'
    const ask = (device = scene.device, payload: object = WANTED) =>
      test.send('POST', URL, { payload, headers: headersOf(device, 'POST', URL) })

    it('have 4,096 characters of resources at most', async () => {
      const paths = (length: number) => [`/${'a'.repeat(length)}`, `/${'b'.repeat(length)}`]
      const asked = (length: number) => ({ ...WANTED, action: 'read', resources: paths(length) })

      expect((await ask(scene.device, asked(2_047))).statusCode).toBe(201)
      const refused = await ask(scene.device, asked(2_048))

      expect(refused.statusCode).toBe(400)
      expect(refused.json()).toMatchObject({
        error: { field: 'resources', message: expect.stringContaining('4096 characters together') },
      })
    })

    it('are for its user, who sees the answer there', async () => {
      const made = await ask()
      expect([made.statusCode, made.json()]).toMatchObject([
        201,
        {
          username: scene.names.bob,
          device_id: scene.device.enrolment.device_id,
          state: 'pending',
        },
      ])
      const { id } = made.json<{ id: string }>()
      await scene.post(`${scene.paths.requests}/${id}/reject`, scene.owner.as, answer)

      const headers = headersOf(scene.device, 'GET', URL)
      const list = await test.send('GET', URL, { headers })

      expect(list.json()).toMatchObject({ data: [{ id, state: 'rejected', ...answer }] })
      const events = await test.send('GET', `${scene.paths.org}/events`, {
        as: scene.owner.as,
      })
      expect(events.json<{ data: object[] }>().data.at(-2)).toMatchObject({
        kind: 'access.requested',
        actor: `user:${scene.names.bob}`,
        after: { device_id: scene.device.enrolment.device_id },
      })
    })

    it('are refused when its user is removed while the request is on its way', async () => {
      const store = createAuditedStore({ store: test.store, now: () => new Date() })
      const service = createAccessService({
        startProcess: startInProcess,
        store,
        evidence: { list: async () => ({ rows: [], next: null }) },
        now: () => new Date(test.now()),
        random: randomBytes,
        writeLimits: { countOwn: () => {}, countOwnOf: () => {} },
        budget: createWorkBudget(),
        pageTokenKey: randomBytes(32),
      })
      const author = { actor: `user:${scene.names.bob}`, address: null, request_id: null }
      const admitted = {
        org: scene.org,
        username: scene.names.bob,
        device_id: scene.device.enrolment.device_id,
        author,
      }
      await test.send('DELETE', `${scene.paths.org}/members/${scene.names.bob}`, {
        as: scene.owner.as,
      })

      const asked = service.requestFor(admitted, { ...WANTED, resources: [...WANTED.resources] })

      await expect(asked).rejects.toMatchObject({ status: 401 })
      const list = await test.send('GET', scene.paths.requests, { as: scene.owner.as })
      expect(list.json()).toMatchObject({ data: [] })
    })

    it('are refused for a machine without a user, and without a proof', async () => {
      const nobody = await enrolTestDevice(test, scene.owner.as, scene.org)

      const refused = await ask(nobody)

      expect([refused.statusCode, refused.json()]).toMatchObject([
        403,
        { error: { code: 'permission_denied' } },
      ])
      expect((await test.send('POST', URL, { payload: WANTED })).statusCode).toBe(401)
    })

    it('are ten a minute at most', async () => {
      for (let count = 0; count < 10; count += 1) expect((await ask()).statusCode).toBe(201)

      const refused = await ask()
      expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60'])
      test.advance(60_000)
      expect((await ask()).statusCode).toBe(201)
    })
  })
})
