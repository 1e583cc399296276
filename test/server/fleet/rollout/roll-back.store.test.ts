import type { RollBackResponse, Rollout } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openRolloutScene, openRolloutServer, type RolloutScene } from './rollout-scene.ts'

const RULE = {
  name: 'r',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['Example.com:443'],
}

let test: TestServer
let scene: RolloutScene
const atEnd = atEndOfTests()
beforeAll(async () => {
  test = await openRolloutServer(atEnd)
})
beforeEach(async () => {
  scene = await openRolloutScene(test)
})

function rollBack({ id }: Rollout, headers: Record<string, string> = {}) {
  const as = scene.owner.as
  return test.send('POST', `${scene.paths.rollouts}/${id}/roll-back`, { as, headers })
}
const policies = () => test.store.read((reader) => reader.policies.listWithRules(scene.org))
/** The content of policies, without times and revisions. */
const said = async () =>
  (await policies())
    .map(({ name, teams, mode, rules }) => ({
      name,
      teams,
      mode,
      rules: rules.map(({ id: _id, ...rule }) => rule),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** Forty of these exceed the path cost of an organization. */
function costly(at: number): string {
  return `/*${at}*1*2*3*4*5*6*7*8*9*`
}

describe('rolling back', () => {
  it('restores path patterns beyond the limits, accepted by an older server', async () => {
    const { owner } = scene
    const as = owner.as
    const id = await scene.createPolicy('old')
    const rule = {
      id: `rule_${'0'.repeat(28)}`,
      name: 'old',
      actions: ['read' as const],
      decision: 'deny' as const,
      resources: ['/**/a'.repeat(33), ...Array.from({ length: 40 }, (_, at) => costly(at))],
    }
    const place = { org: scene.org, policyId: id, updated_at: '2026-01-01T00:00:00Z' }
    await test.store.transaction((writer) => writer.policies.insertRule(place, rule))
    const before = await said()
    const rollout = await scene.start()
    await test.send('DELETE', `${scene.paths.policies}/${id}`, { as })

    const answer = await rollBack(rollout)

    expect(answer.statusCode, answer.body).toBe(200)
    expect(await said()).toEqual(before)
  })

  it('restores the mode of a policy and the expiry of a rule', async () => {
    const { owner } = scene
    const as = owner.as
    const id = await scene.createPolicy('trial')
    const detailed = `${scene.paths.org}/policies/${id}`
    await test.send('PATCH', detailed, { as, payload: { mode: 'shadow' } })
    const payload = { ...RULE, expires_at: '2026-12-31T18:00:00.000Z' }
    const { id: ruleId } = (await test.send('POST', `${detailed}/rules`, { as, payload })).json()
    const before = await said()
    expect(before).toMatchObject([{}, { mode: 'shadow', rules: [payload] }])
    const rollout = await scene.start()
    await test.send('PATCH', detailed, { as, payload: { mode: 'enforce' } })
    await test.send('PATCH', `${detailed}/rules/${ruleId}`, { as, payload: { expires_at: null } })
    expect(await said()).not.toEqual(before)

    const answer = await rollBack(rollout)

    expect(answer.statusCode, answer.body).toBe(200)
    expect(await said()).toEqual(before)
  })

  it('gives all machines the policies of the start as a new revision', async () => {
    const { owner, other, ring } = scene
    const as = owner.as
    const doomed = await scene.createPolicy('doomed')
    await test.send('POST', `${scene.paths.policies}/${doomed}/rules`, { as, payload: RULE })
    const before = await said()
    const base = await scene.revision()
    const rollout = await scene.start()
    await test.send('DELETE', `${scene.paths.policies}/${doomed}`, { as })
    const [first] = await policies()
    await test.send('POST', `${scene.paths.policies}/${first?.id ?? ''}/rules`, {
      as,
      payload: RULE,
    })
    await scene.createPolicy('second')
    const bad = await scene.revision()
    expect((await scene.enforced(ring)).revision).toBe(bad)

    const answer = await rollBack(rollout)

    expect(answer.statusCode, answer.body).toBe(200)
    const { changes, revision, left_out, ...rest } = answer.json<RollBackResponse>()
    expect(rest.rollout).toMatchObject({ id: rollout.id, state: 'rolled_back' })
    expect(changes.map(({ change, name }) => `${change} ${name}`)).toEqual([
      'deleted second',
      'updated first',
      'created doomed',
    ])
    expect(left_out).toEqual([])
    expect(await said()).toEqual(before)
    expect(revision).toBeGreaterThan(bad)
    for (const device of [ring, other]) {
      const enforced = await scene.enforced(device)
      expect(enforced.names).toEqual(['doomed', 'first'])
      expect(enforced.revision).toBeGreaterThan(Math.max(bad, base))
    }
    const feed = await test.send('GET', `${scene.paths.org}/events?kind=rollout.rolled_back`, {
      as,
    })
    expect(feed.json().data).toHaveLength(1)
    const deleted = await test.send('GET', `${scene.paths.org}/events?kind=policy.deleted`, { as })
    expect(deleted.json().data.map((event: { subject: object }) => event.subject)).toMatchObject([
      { name: 'doomed' },
      { name: 'second' },
    ])
    const kept = await test.store.read((reader) => reader.rollouts.baseIds(scene.org, rollout.id))
    expect(kept).toEqual([])
  })

  it('changes no policy if the rollout changed none', async () => {
    const rollout = await scene.start()
    const before = await policies()

    const answer = await rollBack(rollout)

    expect(answer.json()).toMatchObject({ changes: [], rollout: { state: 'rolled_back' } })
    expect(await policies()).toEqual(before)
  })

  it('is refused with a stale entity tag', async () => {
    const rollout = await scene.start()
    const seen = await scene.revision()
    await scene.createPolicy('second')
    const before = await policies()

    const stale = await rollBack(rollout, { 'if-match': `"${seen}"` })
    expect(stale.statusCode).toBe(412)
    expect(await policies()).toEqual(before)
    expect((await scene.status(rollout)).state).toBe('running')
    const current = await rollBack(rollout, { 'if-match': `"${seen + 1}"` })
    expect(current.statusCode, current.body).toBe(200)
  })

  it('takes effect once', async () => {
    const rollout = await scene.start()
    await scene.createPolicy('second')
    const key = { 'idempotency-key': 'once' }

    const first = await rollBack(rollout, key)
    await scene.createPolicy('third')
    const again = await rollBack(rollout, key)
    const other = await rollBack(rollout)

    expect([first.statusCode, again.statusCode, other.statusCode]).toEqual([200, 200, 409])
    expect(again.body).toBe(first.body)
    expect((await said()).map(({ name }) => name)).toEqual(['first', 'third'])
  })

  it('never makes the policy of a deleted team organization-wide', async () => {
    const { owner } = scene
    const as = owner.as
    const make = async (name: string) => {
      const made = await test.send('POST', `${scene.paths.org}/teams`, { as, payload: { name } })
      return made.json<{ id: string }>().id
    }
    const [core, edge] = [await make('core'), await make('edge')]
    const sole = await scene.createPolicy('of core', { teams: [core] })
    await scene.createPolicy('of both', { teams: [core, edge] })
    const rollout = await scene.start()
    await test.send('DELETE', `${scene.paths.policies}/${sole}`, { as })
    const gone = await test.send('DELETE', `${scene.paths.org}/teams/${core}?detach=policies`, {
      as,
    })
    expect(gone.statusCode, gone.body).toBe(204)

    const answer = await rollBack(rollout)

    expect(answer.statusCode, answer.body).toBe(200)
    expect(answer.json().left_out).toEqual([{ name: 'of core' }])
    expect((await said()).map(({ name, teams }) => [name, teams])).toEqual([
      ['first', []],
      ['of both', [edge]],
    ])
  })

  it('is refused beyond a limit, without changes', async () => {
    const rollout = await scene.start()
    const [first] = await policies()
    if (first === undefined) throw new Error('there is no policy')
    // As after the limit of the server was lowered.
    const rules = Array.from({ length: 251 }, (_, index) => ({
      id: `rule_${index}`,
      ...RULE,
      name: `r${index}`,
      decision: 'allow' as const,
      actions: ['connect:tcp' as const],
    }))
    await test.store.transaction(async (writer) => {
      const found = await writer.rollouts.find(scene.org, rollout.id)
      if (found === null) throw new Error('there is no rollout')
      await writer.rollouts.update({ ...found, state: 'finished', ended_at: found.created_at })
      const at = { org: scene.org, policyId: first.id, updated_at: first.updated_at }
      const { revision } = await writer.policies.replaceRules(at, rules)
      await writer.rollouts.insert({ ...found, id: 'other', base_revision: revision })
      await writer.policies.replaceRules(at, first.rules)
    })

    const answer = await rollBack({ ...rollout, id: 'other' })

    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'limit_exceeded'])
    expect((await scene.status({ ...rollout, id: 'other' })).state).toBe('running')
    expect(await policies()).toEqual([{ ...first, revision: expect.any(Number) }])
  })
})
