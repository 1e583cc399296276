import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { reviewAccess } from '../../../../server/src/fleet/access/review-access.ts'
import { bodyOf, HEADER, linesOf, recordOf, textOf } from '../../evidence/ingest/batch-text.ts'
import { headersOf } from '../../test-device.ts'
import type { TestServer } from '../../test-server.ts'
import { openAccessScene, openAccessServer, WANTED, type AccessScene } from './access-scene.ts'

const RECORDS = '/api/v1/device/records'

describe('the review of an access request', () => {
  let test: TestServer
  let scene: AccessScene

  beforeAll(async () => {
    test = await openAccessServer()
  })
  beforeEach(async () => {
    scene = await openAccessScene(test)
  })

  async function addRule(rule: object, teams: readonly string[] = []): Promise<void> {
    const as = scene.owner.as
    const scope = teams.length === 0 ? {} : { teams }
    const made = await scene.post(scene.paths.policies, as, { name: `p ${Math.random()}`, scope })
    const { id } = made.json<{ id: string }>()
    const added = await scene.post(`${scene.paths.policies}/${id}/rules`, as, {
      name: 'r',
      ...rule,
    })
    expect(added.statusCode, added.body).toBe(201)
  }
  const reviewOf = async (changes: object = {}) =>
    (await scene.get(await scene.ask(changes))).review

  it('tells for each resource whether policies of the user allow or deny it', async () => {
    const tcp = { actions: ['connect:tcp'] }
    const allowed = ['allowed.example.com:443']
    const denied = ['denied.example.com', 'part.sub.example.com']
    await addRule({ ...tcp, decision: 'allow', resources: allowed })
    await addRule({ ...tcp, decision: 'deny', resources: denied })
    await addRule({ actions: ['connect:udp'], decision: 'deny', resources: ['new.example.com'] })
    const team = await scene.post(`${scene.paths.org}/teams`, scene.owner.as, { name: 'others' })
    const foreign = { ...tcp, decision: 'deny', resources: ['new.example.com'] }
    await addRule(foreign, [team.json<{ id: string }>().id])

    const review = await reviewOf({
      resources: [
        'allowed.example.com:443',
        'denied.example.com:443',
        '*.sub.example.com:443',
        'new.example.com:443',
      ],
    })

    expect(review?.resources.map(({ effect }) => effect)).toEqual([
      'allowed',
      'denied',
      'partly_denied',
      'opens',
    ])
  })

  it('tells that policies are too large to compare', async () => {
    const hosts = (from: number) =>
      Array.from({ length: 1_500 }, (_, index) => `h${from + index}.example.net`)
    for (const from of [0, 1_500])
      await addRule({ actions: ['connect:tcp'], decision: 'allow', resources: hosts(from) })

    expect((await reviewOf())?.resources).toMatchObject([{ effect: 'unknown' }])
  })

  it('has the findings of the linter', async () => {
    const review = await reviewOf({ resources: ['*.example.com:443'] })

    expect(review?.findings).toMatchObject([{ code: 'apex_not_covered', severity: 'info' }])
  })

  it('counts the uploaded denials of the user that the grant allows', async () => {
    const request = { action: 'connect:tcp', host: 'registry.example.com', port: 443 } as const
    const records = [
      recordOf({ request, count: 3 }),
      recordOf({ request: { ...request, port: 80 } }),
      recordOf({ request, decision: 'allow', reason: 'rule' }),
      // No grant lifts a deny of a rule, or counts without a policy in force.
      recordOf({ request, reason: 'rule', count: 5 }),
      recordOf({ request, reason: 'policy_expired', count: 7 }),
      recordOf({ request: { action: 'read', path: '/data/x' } }),
    ]
    await scene.owner.uploadEverything()
    const { bytes } = bodyOf(textOf(HEADER, linesOf(records)))
    const sent = await test.server.app.inject({
      method: 'POST',
      url: RECORDS,
      payload: Buffer.from(bytes),
      headers: {
        host: 'localhost',
        ...headersOf(scene.device, 'POST', RECORDS),
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
      },
    })
    expect(sent.statusCode, sent.body).toBe(200)

    expect((await reviewOf())?.recorded).toEqual({
      requests: 3,
      last_at: expect.stringMatching(/^2026-11-21T08:00:/),
      complete: true,
    })
    const asAlice = await scene.ask({}, scene.owner.as)
    expect((await scene.get(asAlice)).review?.recorded.requests).toBe(0)
    expect(WANTED.resources).toEqual(['registry.example.com:443'])
  })

  it('lets others have turns while it decides expensive records', async () => {
    const resources = Array.from({ length: 10 }, (_, i) => `/data${`/**/a${i}*b`.repeat(30)}`)
    const asked = { org: scene.org, username: scene.names.bob, action: 'read', resources } as const
    const reviewed = async (count: number): Promise<number> => {
      const rows = Array.from({ length: count }, (_, i) =>
        denialOf(`/data${`/a${i}b`.repeat(400)}`),
      )
      const list = async () => ({ rows, next: null })
      let turns = 0
      const turn = (): void => {
        turns += 1
        next = setImmediate(turn)
      }
      let next = setImmediate(turn)
      await reviewAccess({ evidence: { list } as never, now: () => new Date() }, asked, null)
      clearImmediate(next)
      return turns
    }
    const without = await reviewed(0)

    expect(await reviewed(500)).toBeGreaterThan(without + 20)
  })
})

function denialOf(path: string) {
  const tuple = { action: 'read', host: null, path, path_cut: false, reason: 'default_deny' }
  return { tuple, decisions: 1, last_ms: 0 }
}
