import { rolloutStatusSchema, type HistoryEvent } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner } from '../../owner.ts'
import type { TestServer } from '../../test-server.ts'
import { openViewDevice } from '../../views/view-device.ts'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openRolloutScene, openRolloutServer, STAGES, type RolloutScene } from './rollout-scene.ts'

const PASSWORD = 'a long enough password'

let test: TestServer
let scene: RolloutScene
const atEnd = atEndOfTests()
beforeAll(async () => {
  test = await openRolloutServer(atEnd)
})
beforeEach(async () => {
  scene = await openRolloutScene(test)
})

const namesOf = async (device = scene.other) => (await scene.enforced(device)).names

describe('a rollout to a label that no machine has', () => {
  const start = (request: object) =>
    test.send('POST', scene.paths.rollouts, {
      as: scene.owner.as,
      payload: { max_rejected: { machines: 0 }, ...request },
    })
  const stages = [{ label: 'canary' }, { label: 'canari' }, { percent: 100 }]

  it('is refused, naming the label', async () => {
    const answer = await start({ stages })

    expect(answer.statusCode).toBe(409)
    expect(answer.json<{ error: object }>().error).toMatchObject({
      code: 'conflict',
      reason: 'label_unused',
      message: expect.stringContaining('no machine has the label `canari`'),
    })
    expect((await start({ stages: [{ label: 'canary' }] })).statusCode).toBe(201)
  })

  it('is refused if its only machine is revoked, or has a longer label', async () => {
    await scene.enrol(['xcanari', 'canariz', 'c_nari'])
    const revoked = await scene.enrol(['canari'])
    const url = `${scene.paths.org}/devices/${revoked.enrolment.device_id}`
    await test.send('DELETE', url, { as: scene.owner.as })

    expect((await start({ stages })).statusCode).toBe(409)
    expect((await start({ stages: [{ label: 'c.nari' }] })).statusCode).toBe(409)
    expect((await start({ stages: [{ label: 'c_nari' }] })).statusCode).toBe(201)
  })

  it('starts with `force`', async () => {
    expect((await start({ stages, force: true })).statusCode).toBe(201)
  })
})

describe('an open rollout', () => {
  it('gives changes to machines within its stages, and old policies to others', async () => {
    const { ring, other } = scene
    const base = await scene.revision()
    const rollout = await scene.start()
    expect(rollout).toMatchObject({ state: 'running', stage: 1, base_revision: base })
    expect(await scene.enforced(ring)).toMatchObject({ names: ['first'] })

    await scene.createPolicy('second')

    expect(await scene.enforced(ring)).toEqual({ names: ['first', 'second'], revision: base + 1 })
    expect(await scene.enforced(other)).toEqual({ names: ['first'], revision: base })
    await scene.take(rollout, 'advance', { stage: 2 })
    expect(await scene.enforced(other)).toEqual({ names: ['first', 'second'], revision: base + 1 })
  })

  it('holds back deletions and updates, too', async () => {
    const { owner } = scene
    const id = await scene.createPolicy('doomed')
    const rule = {
      name: 'r',
      actions: ['connect:tcp'],
      decision: 'deny',
      resources: ['example.com'],
    }
    await scene.start()

    await test.send('DELETE', `${scene.paths.policies}/${id}`, { as: owner.as })
    const [first] = await test.store.read((reader) => reader.policies.listWithRules(scene.org))
    await test.send('POST', `${scene.paths.policies}/${first?.id ?? ''}/rules`, {
      as: owner.as,
      payload: rule,
    })

    expect(await namesOf(scene.ring)).toEqual(['first'])
    expect(await namesOf()).toEqual(['doomed', 'first'])
    const targetsOf = async (device = scene.other) =>
      Object.values((await (await openViewDevice(test, device)).targets()).targets)
    const lengths = [await targetsOf(), await targetsOf(scene.ring)].map((targets) =>
      targets.map(({ length }) => length),
    )
    expect(Math.max(...(lengths[1] ?? []))).toBeGreaterThan(Math.max(...(lengths[0] ?? [])))
  })

  it('applies team changes at once, to the policies that a machine has', async () => {
    const { owner } = scene
    const bob = freshName('bob')
    await owner.addMember(bob, 'member', PASSWORD)
    const made = await test.send('POST', `${scene.paths.org}/teams`, {
      as: owner.as,
      payload: { name: 'core' },
    })
    const team = made.json<{ id: string }>().id
    await scene.createPolicy('of core', { teams: [team] })
    const ofBob = await scene.enrol([], bob)
    await scene.start()
    await scene.createPolicy('of core, new', { teams: [team] })
    expect(await namesOf(ofBob)).toEqual(['first'])

    await test.send('PUT', `${scene.paths.org}/teams/${team}/members/${bob}`, { as: owner.as })
    expect(await namesOf(ofBob)).toEqual(['first', 'of core'])

    await test.send('DELETE', `${scene.paths.org}/teams/${team}/members/${bob}`, { as: owner.as })
    expect(await namesOf(ofBob)).toEqual(['first'])
  })

  it('follows changes of labels by administrators', async () => {
    const { other } = scene
    await scene.start()
    await scene.createPolicy('second')

    await scene.label(other, ['canary'])
    expect(await namesOf()).toEqual(['first', 'second'])
    await scene.label(other, [])
    expect(await namesOf()).toEqual(['first'])
  })

  it('moves a machine at its next poll, without lowering a version of a view', async () => {
    const { other } = scene
    const seen = new Map<string, number>()
    async function poll(): Promise<string> {
      const view = await openViewDevice(test, other)
      const { version } = await view.timestamp()
      // The second one is answered from the cache.
      expect((await view.timestamp()).version).toBe(version)
      expect(version).toBeGreaterThanOrEqual(seen.get(view.view) ?? 0)
      seen.set(view.view, version)
      return view.view
    }
    const ordinary = await poll()
    const view = await openViewDevice(test, other)

    const rollout = await scene.start()
    expect((await view.get('metadata/timestamp.json')).statusCode).toBe(404)
    const held = await poll()
    const old = await openViewDevice(test, other)
    await scene.createPolicy('second')
    expect(await poll()).toBe(held)
    await scene.label(other, ['canary'])
    expect(await poll()).toBe(ordinary)
    await scene.label(other, [])
    expect(await poll()).toBe(held)
    await scene.take(rollout, 'advance', { stage: 2 })
    expect((await old.get('metadata/timestamp.json')).statusCode).toBe(404)
    expect(await poll()).toBe(ordinary)
    await scene.take(rollout, 'finish')
    expect(await poll()).toBe(ordinary)

    const next = await scene.start()
    expect([ordinary, held]).not.toContain(await poll())
    await scene.take(next, 'finish')
  })

  it('applies settings of the organization on both sides', async () => {
    const { owner, other, ring } = scene
    await scene.start()
    const payload = { distribution: { offline_allow: ['vpn.example.com:443'] } }
    const change = await test.send('PATCH', scene.paths.org, { as: owner.as, payload })
    expect(change.statusCode, change.body).toBe(200)

    for (const device of [ring, other]) {
      const settings = (await (await openViewDevice(test, device)).targets())['x-settings']
      expect(settings['offline_allow']).toEqual(['vpn.example.com:443'])
    }
  })

  it('is respected by the bundle of a held back machine', async () => {
    const { owner, other } = scene
    await scene.start()
    await scene.createPolicy('second')
    const url = `${scene.paths.org}/devices/${other.enrolment.device_id}/bundle`

    const bundle = await test.send('GET', url, { as: owner.as })

    const { files } = bundle.json<{ files: Record<string, string> }>()
    const documents = Object.keys(files).filter((name) => name.startsWith('targets/policies/'))
    expect(documents).toHaveLength(1)
  })

  it('counts held back machines in the status of a revision', async () => {
    const { owner, other, ring } = scene
    const status = async (revision: number) => {
      const answer = await test.send('GET', `${scene.paths.org}/revisions/${revision}`, {
        as: owner.as,
      })
      const { applied, pending, held_back } = answer.json()
      return { applied, pending, held_back }
    }
    const base = await scene.revision()
    expect(await status(base)).toEqual({ applied: 0, pending: 2, held_back: undefined })
    const rollout = await scene.start()
    await scene.createPolicy('second')
    await scene.report(ring, base + 1)
    await scene.report(other, base)

    expect(await status(base)).toEqual({ applied: 2, pending: 0, held_back: 0 })
    expect(await status(base + 1)).toEqual({ applied: 1, pending: 1, held_back: 1 })
    await scene.take(rollout, 'finish')
    expect(await status(base + 1)).toEqual({ applied: 1, pending: 1, held_back: undefined })
  })
})

describe('the API of rollouts', () => {
  const send = (path: string, as: string | undefined, payload: object = {}) =>
    test.send('POST', `${scene.paths.rollouts}${path}`, {
      ...(as === undefined ? {} : { as }),
      payload,
    })
  const REQUEST = { stages: STAGES, max_rejected: { percent: 5 } }

  it('needs `policies:write` to start and end one, `policies:read` to see it', async () => {
    const { owner } = scene
    const theirs = freshName('rival')
    const rival = await openOwner(test, theirs, freshName('rita'))
    const editor = await owner.addMember(freshName('ed'), 'editor', PASSWORD)
    const auditor = await owner.addMember(freshName('audrey'), 'auditor', PASSWORD)
    const member = await owner.addMember(freshName('mia'), 'member', PASSWORD)
    const admin = await owner.organizationToken(['audit:read', 'organization:admin'])

    const refused = []
    for (const as of [undefined, rival.as, member, auditor, admin])
      refused.push((await send('', as, REQUEST)).statusCode)
    expect(refused).toEqual([401, 404, 403, 403, 403])
    const started = await send('', editor, REQUEST)
    expect(started.statusCode, started.body).toBe(201)
    const { id } = started.json<{ id: string }>()
    const seen = []
    for (const as of [rival.as, member, admin, auditor, editor])
      for (const url of [scene.paths.rollouts, `${scene.paths.rollouts}/${id}`])
        seen.push((await test.send('GET', url, { as })).statusCode)
    expect(seen).toEqual([404, 404, 403, 403, 403, 403, 200, 200, 200, 200])
    const steps = []
    for (const as of [rival.as, member, auditor])
      for (const action of ['advance', 'pause', 'resume', 'finish', 'roll-back'])
        steps.push((await send(`/${id}/${action}`, as, { stage: 2 })).statusCode)
    expect(new Set(steps)).toEqual(new Set([404, 403]))
    const elsewhere = `/api/v1/orgs/${theirs}/rollouts/${id}`
    expect((await test.send('GET', elsewhere, { as: rival.as })).statusCode).toBe(404)
    const stolen = await test.send('POST', `${elsewhere}/finish`, { as: rival.as })
    expect(stolen.statusCode).toBe(404)
    const finished = await test.send('POST', `${scene.paths.rollouts}/${id}/finish`, { as: editor })
    expect(finished.statusCode).toBe(200)
  })

  it('allows one open rollout for an organization', async () => {
    const { owner } = scene
    const rollout = await scene.start()

    const second = await send('', owner.as, REQUEST)
    expect([second.statusCode, second.json().error.message]).toEqual([
      409,
      'there is a rollout already; finish it or roll it back first',
    ])
    const theirs = freshName('rival')
    const rival = await openOwner(test, theirs, freshName('rita'))
    const other = await test.send('POST', `/api/v1/orgs/${theirs}/rollouts`, {
      as: rival.as,
      payload: { ...REQUEST, force: true },
    })
    expect(other.statusCode).toBe(201)
    await scene.take(rollout, 'finish')
    expect((await send('', owner.as, REQUEST)).statusCode).toBe(201)
    const listed = await test.send('GET', scene.paths.rollouts, { as: owner.as })
    expect(listed.json().data).toHaveLength(2)
  })

  it('names the invalid member of a request', async () => {
    const wrong: [string, object][] = [
      ['stages', { ...REQUEST, stages: [] }],
      [
        'stages',
        { ...REQUEST, stages: Array.from({ length: 11 }, (_, i) => ({ percent: i + 1 })) },
      ],
      ['stages', { ...REQUEST, stages: [{ percent: 20 }, { percent: 10 }] }],
      ['stages', { ...REQUEST, stages: [{ percent: 10 }, { label: 'a' }, { percent: 10 }] }],
      ['stages', { ...REQUEST, stages: [{ label: 'a' }, { label: 'a' }] }],
      ['stages[0]', { ...REQUEST, stages: [{}] }],
      ['stages[0]', { ...REQUEST, stages: [{ label: 'a', percent: 1 }] }],
      ['stages[0].label', { ...REQUEST, stages: [{ label: '__proto__' }] }],
      ['stages[0].percent', { ...REQUEST, stages: [{ percent: 0 }] }],
      ['stages[0].percent', { ...REQUEST, stages: [{ percent: 101 }] }],
      ['stages[0].percent', { ...REQUEST, stages: [{ percent: 1.5 }] }],
      ['max_rejected', { stages: STAGES }],
      ['max_rejected', { ...REQUEST, max_rejected: {} }],
      ['max_rejected.machines', { ...REQUEST, max_rejected: { machines: -1 } }],
      ['wait_seconds', { ...REQUEST, wait_seconds: 59 }],
      ['wait_seconds', { ...REQUEST, wait_seconds: null }],
      ['state', { ...REQUEST, state: 'finished' }],
    ]
    const fields: [number, string][] = []
    for (const [, payload] of wrong) {
      const answer = await send('', scene.owner.as, payload)
      fields.push([answer.statusCode, answer.json().error.field])
    }
    expect(fields).toEqual(wrong.map(([field]) => [400, field]))
  })

  it('allows the steps of the current state, with an event for each', async () => {
    const { owner } = scene
    const rollout = await scene.start()
    const attempt = async (action: string, payload?: object) => {
      const body = payload === undefined ? {} : { payload }
      const url = `${scene.paths.rollouts}/${rollout.id}/${action}`
      const answer = await test.send('POST', url, { as: owner.as, ...body })
      return answer.statusCode
    }

    const statuses = [
      await attempt('resume', {}),
      await attempt('pause'),
      await attempt('pause'),
      await attempt('advance', { stage: 2 }),
      await attempt('resume', { max_rejected: { machines: 7 } }),
      await attempt('advance', { stage: 2 }),
      await attempt('advance', { stage: 2 }),
      await attempt('advance', { stage: 3 }),
      await attempt('finish'),
      await attempt('finish'),
      await attempt('roll-back'),
    ]

    expect(statuses).toEqual([409, 200, 409, 409, 200, 200, 409, 409, 200, 409, 409])
    const feed = await test.send('GET', `${scene.paths.org}/events`, { as: owner.as })
    const events: HistoryEvent[] = feed.json().data
    expect(
      events.filter(({ subject }) => subject.id === rollout.id).map(({ kind }) => kind),
    ).toEqual([
      'rollout.started',
      'rollout.paused',
      'rollout.resumed',
      'rollout.advanced',
      'rollout.finished',
    ])
    const status = rolloutStatusSchema.parse(await scene.status(rollout))
    expect(status).toMatchObject({ state: 'finished', machines: null })
    expect(status).toMatchObject({ max_rejected: { machines: 7 }, paused: null })
  })

  it('shows who paused it', async () => {
    const rollout = await scene.start()
    await scene.take(rollout, 'pause')

    const by = `user:${scene.username}`
    expect((await scene.status(rollout)).paused).toMatchObject({ by, reason: null })
  })
})
