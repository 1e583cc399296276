import { EventEmitter } from 'node:events'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createReviews } from '../../../../server/src/fleet/access/review-access.ts'
import { createWorkBudget, type WorkBudget } from '../../../../server/src/work/work-budget.ts'
import { bodyOf, HEADER, linesOf, recordOf, textOf } from '../../evidence/ingest/batch-text.ts'
import { headersOf } from '../../test-device.ts'
import { OUT_OF_MEMORY, type StartWorker } from '../../../../server/src/platform/start-worker.ts'
import { startInProcess } from '../../in-process-worker.ts'
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

  it('tells that the text of policies is too long to compare', async () => {
    const long = Array.from({ length: 40 }, (_, index) => `/data${index}/${'k/'.repeat(1_900)}z`)
    await addRule({ actions: ['read'], decision: 'deny', resources: long.slice(0, 20) })
    const asked = { action: 'read', resources: ['/data0/**'] }
    expect((await reviewOf(asked))?.resources).toMatchObject([{ effect: 'partly_denied' }])

    await addRule({ actions: ['read'], decision: 'deny', resources: long.slice(20) })

    expect((await reviewOf(asked))?.resources).toMatchObject([{ effect: 'unknown' }])
  })

  it('has the findings of the linter', async () => {
    const review = await reviewOf({ resources: ['*.example.com:443'] })

    expect(review?.findings).toMatchObject([{ code: 'apex_not_covered', severity: 'info' }])
  })

  it('warns of paths that no suggestion would open', async () => {
    const sensitive = [
      '~/.ssh/**',
      '~/.aws/credentials',
      '/etc/shadow',
      '/var/run/docker.sock',
      '~/Library/**',
      '/etc/**',
    ]
    const ordinary = ['~/project/**', '/srv/data/*', '/home/*/project/**']

    const review = await reviewOf({ action: 'read', resources: [...sensitive, ...ordinary] })

    const found = review?.findings.filter(({ code }) => code === 'sensitive_path')
    expect(found?.map(({ message }) => message.split('`')[1])).toEqual(sensitive)
    expect(found?.[0]).toMatchObject({
      severity: 'warning',
      message: '`~/.ssh/**` opens a place of credentials',
    })
    const network = await reviewOf({ resources: ['home.example.com:443'] })
    expect(network?.findings).toEqual([])
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

  const payerOf = (org: string) => ({ org, caller: 'user:eve', isWriter: false })
  const reviewsOf = (
    list: () => Promise<object>,
    budget: WorkBudget = createWorkBudget(),
    startProcess = startInProcess,
  ) =>
    createReviews({
      startProcess,
      store: test.store,
      budget,
      evidence: { list } as never,
      now: () => new Date(),
    })
  const reviewed = (org: string) => ({ ...WANTED, org, username: scene.names.bob })

  it('is made one at a time in an organization, and refused when four wait', async () => {
    const ends: (() => void)[] = []
    const review = reviewsOf(
      () => new Promise((resolve) => ends.push(() => resolve({ rows: [], next: null }))),
    )
    const make = (org: string) => review(payerOf(org), reviewed(org))
    const all = Array.from({ length: 6 }, () => make(scene.org))
    await expect(all.pop()).rejects.toMatchObject({ status: 429 })
    await expect.poll(() => ends.length).toBe(1)

    const other = make('other')
    await expect.poll(() => ends.length).toBe(2)
    ends[1]?.()
    await other
    for (const length of [3, 4, 5, 6]) {
      ends.at(length === 3 ? 0 : -1)?.()
      await expect.poll(() => ends.length).toBe(length)
    }
    ends.at(-1)?.()

    expect(await Promise.all(all)).toHaveLength(5)
  })

  it('is charged to its caller', async () => {
    const account = { burstMs: 1, perSecondMs: 1e-6 }
    const budget = createWorkBudget({
      limits: { organization: account, caller: account, reservedMs: 0 },
      workMs: () => performance.now(),
    })
    const review = reviewsOf(async () => ({ rows: [], next: null }), budget)
    const hosts = Array.from({ length: 1_500 }, (_, index) => `h${index}.example.net`)
    await addRule({ actions: ['connect:tcp'], decision: 'allow', resources: hosts })

    await review(payerOf(scene.org), reviewed(scene.org))

    await expect(review(payerOf(scene.org), reviewed(scene.org))).rejects.toMatchObject({
      status: 429,
      code: 'limit_exceeded',
    })
    await expect(review(payerOf('other'), reviewed('other'))).resolves.toBeDefined()
  })

  it('of an approval waits for the budget of its caller alone', async () => {
    const account = { burstMs: 1, perSecondMs: 1e-6 }
    const limits = { organization: account, caller: account, reservedMs: 0 }
    const budget = createWorkBudget({ limits })
    const review = reviewsOf(async () => ({ rows: [], next: null }), budget)
    const { duration_seconds } = WANTED
    const approval = { request: WANTED, duration_seconds, once: false }
    const payer = payerOf(scene.org)
    budget.begin({ ...payer, caller: 'user:other' }).charge(10)
    const refused = { status: 429, code: 'limit_exceeded' }

    await expect(review(payer, reviewed(scene.org))).rejects.toMatchObject(refused)
    await review(payer, reviewed(scene.org), approval)

    await expect(review(payer, reviewed(scene.org), approval)).rejects.toMatchObject(refused)
  })

  it('is made in a process of its own, which ends, and whose time is charged', async () => {
    const processes: { name: string; heapMib: unknown; ended: number }[] = []
    const startProcess: StartWorker = (name, options) => {
      const worker = startInProcess(name, options)
      const heapMib = options.resourceLimits?.maxOldGenerationSizeMb
      const process = { name, heapMib, ended: 0 }
      processes.push(process)
      return Object.assign(worker, {
        terminate: async () => (process.ended += 1),
      })
    }
    const { budget, charged } = recordCharges()
    const rows = Array.from({ length: 500 }, (_, i) => denialOf(`/data/${i % 5}`))
    const review = reviewsOf(async () => ({ rows, next: null }), budget, startProcess)
    const asked = { org: scene.org, username: scene.names.bob, action: 'read' } as const

    const made = await review(payerOf(scene.org), { ...asked, resources: ['/data/3'] })

    expect(made.recorded).toEqual({ requests: 100, last_at: expect.any(String), complete: true })
    expect(processes).toEqual([{ name: 'review-worker', heapMib: 128, ended: 1 }])
    expect(charged).toEqual([expect.any(Number)])
    expect(charged[0]).toBeGreaterThan(100)
  })

  it.each([
    ['is refused when its process has too little memory', OUT_OF_MEMORY, { status: 403 }],
    ['fails when its process cannot start', { code: 'EMFILE' }, { code: 'EMFILE' }],
  ])('%s; it is charged, and the next one is made', async (_title, code, expected) => {
    let isEnding = true
    const startProcess: StartWorker = (name, options) => {
      const worker = startInProcess(name, options)
      if (!isEnding) return worker
      const ending = new EventEmitter()
      setImmediate(() => ending.emit('error', Object.assign(new Error('ended'), code)))
      const { ref, unref, terminate } = worker
      return Object.assign(ending, { ref, unref, terminate, postMessage: () => undefined })
    }
    const list = async () => ({ rows: [], next: null })
    const { budget, charged } = recordCharges()
    const review = reviewsOf(list, budget, startProcess)

    await expect(review(payerOf(scene.org), reviewed(scene.org))).rejects.toMatchObject(expected)
    isEnding = false
    expect(charged).toEqual([expect.any(Number)])

    expect((await review(payerOf(scene.org), reviewed(scene.org))).resources).toHaveLength(1)
  })
})

/** A budget that refuses nothing. */
function recordCharges() {
  const charged: number[] = []
  const work = {
    turn: async () => {},
    run: <T>(piece: () => T) => piece(),
    end: () => {},
    charge: (ms: number) => charged.push(ms),
  }
  return { charged, budget: { begin: () => work, beginOwn: () => work, require: () => undefined } }
}

function denialOf(path: string) {
  const tuple = { action: 'read', host: null, path, path_cut: false, reason: 'default_deny' }
  return { tuple, decisions: 1, last_ms: 0 }
}
