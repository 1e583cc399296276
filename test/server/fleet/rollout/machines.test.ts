import type { Fetch } from '@palisade/client'
import { randomBytes, randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { describeReport } from '../../../../agent/src/report/describe-report.ts'
import { createDeviceAccess } from '../../../../agent/src/sync/transport/device-access.ts'
import { createStateStore } from '../../../../agent/src/sync/state/state-store.ts'
import { createSynchronizer } from '../../../../agent/src/sync/update/synchronizer.ts'
import { createViewChannel } from '../../../../agent/src/sync/update/view-channel.ts'
import { createFileFetcher } from '../../../../agent/src/sync/transport/fetch-file.ts'
import { readConfig } from '@palisade/server'
import type { Bundle } from '@palisade/protocol'
import { startOfPeriod } from '../../../../server/src/views/publication/renewal.ts'
import { UNLIMITED } from '../../../../server/src/operations/overload/overload.ts'
import { activePolicy } from '../../../agent/fixture/active-policy.ts'
import { atEndOfTests, temporaryDirectory } from '../../temporary-directory.ts'
import type { TestDevice } from '../../test-device.ts'
import { openViewDevice } from '../../views/view-device.ts'
import { createServerUnder, type TestServer } from '../../test-server.ts'
import { openRolloutScene, openRolloutServer, type RolloutScene } from './rollout-scene.ts'

const HOUR_MS = 3_600_000
const never = new AbortController().signal

/** A machine that verifies answers as the agent does. */
interface Machine {
  /** Polls without a failure, then decides the given question. */
  decide(host: string): Promise<string>
  /** Polls and reports; returns the code of the failure, or null. */
  poll(): Promise<string | null>
  /** The same with an immediate update, without a report. */
  demand(): Promise<string | null>
  state(): string
  /** Sets its clock ahead of the server by this much. */
  setAhead(ms: number): void
  /** The same without a poll. */
  decided(host: string): string
  revision(): number | null
}

let test: TestServer
let url: string
let scene: RolloutScene

const atEnd = atEndOfTests()
beforeAll(async () => {
  test = await openRolloutServer(atEnd)
  url = await test.server.app.listen({ host: '127.0.0.1', port: 0 })
})
beforeEach(async () => {
  scene = await openRolloutScene(test)
  // tuf-js reads the clock of the process.
  vi.useFakeTimers({ toFake: ['Date'], now: test.now() })
  onTestFinished(() => void vi.useRealTimers())
})

function advance(ms: number): void {
  test.advance(ms)
  vi.setSystemTime(test.now())
}

async function openMachine(
  { enrolment, prove }: TestDevice,
  fetch: Fetch = globalThis.fetch,
): Promise<Machine> {
  const { active, clock, surroundings } = activePolicy()
  let aheadMs = 0
  const wall = () => (surroundings.nowMs = test.now() + aheadMs)
  wall()
  const wire = { fetch, server: url, prove, timeoutMs: 20_000 }
  const access = createDeviceAccess({ ...wire, clock: wall, random: () => 0.5 })
  const fetchFile = createFileFetcher({ ...wire, access })
  const channel = createViewChannel({
    enrolment: { ...enrolment, server: url },
    store: createStateStore(temporaryDirectory()),
    fetchFile,
    clock,
  })
  const synchronizer = createSynchronizer({
    active,
    channel,
    checkConflict: async () => {},
    org: scene.org,
    clock: wall,
  })
  await synchronizer.restore()
  async function sync(isNewsExpected: boolean): Promise<string | null> {
    wall()
    return (await synchronizer.run(never, isNewsExpected)).error?.code ?? null
  }
  async function poll(): Promise<string | null> {
    const code = await sync(false)
    const body = JSON.stringify(
      describeReport(active, synchronizer.record(), { agent_version: '0.1.0', grant: null }),
    )
    const path = '/api/v1/device/report'
    const told = await fetchFile({ path, maxBytes: 1024, body }, never)
    expect(told.kind).toBe('body')
    return code
  }
  const decided = (host: string): string =>
    active.decide({ action: 'connect:tcp', host, port: 443 }).decision
  return {
    poll,
    demand: () => sync(true),
    state: () => active.state(),
    setAhead(ms) {
      aheadMs = ms
      wall()
    },
    decided,
    revision: () => active.revision(),
    async decide(host) {
      expect(await poll()).toBeNull()
      return decided(host)
    },
  }
}

const JSON_TYPE = { headers: { 'content-type': 'application/json' } }

/** A connection to the server that records updates, and can replay one. */
function openRecorder() {
  const recorded: string[] = []
  let replayed: string | null = null
  let added: Record<string, string> | null = null
  let send: Fetch = globalThis.fetch
  const fetch: Fetch = async (url, asked) => {
    if (!url.includes('/device/update')) {
      const isToken = replayed !== null && url.includes('/device/token')
      return isToken ? new Response(MADE_UP_TOKEN, JSON_TYPE) : send(url, asked)
    }
    if (replayed !== null) {
      const again = new Response(replayed, JSON_TYPE)
      replayed = null
      return again
    }
    const answer = await (added === null
      ? send(url, asked)
      : send(`${url.split('?')[0]}?root=1`, { ...asked, headers: { ...asked.headers, ...added } }))
    const text = await readBody(answer)
    if (answer.status === 200) recorded.push(text)
    if (added !== null) return new Response('', { status: 503 })
    const etag = answer.headers.get('etag') ?? ''
    const { status } = answer
    if (status === 304) return new Response(null, { status })
    return new Response(text, { status, headers: { ...JSON_TYPE.headers, etag } })
  }
  return {
    fetch,
    newest: () => recorded.at(-1) ?? '',
    replay(update: string) {
      replayed = update
    },
    /** Records an answer to another request of the machine with these headers. */
    async keepAnswer(machine: Machine, headers: Record<string, string>): Promise<string> {
      const { length } = recorded
      added = { 'if-none-match': '"another"', ...headers }
      await machine.demand()
      added = null
      expect(recorded).toHaveLength(length + 1)
      return recorded.at(-1) ?? ''
    },
    /** Sets the server of the next requests. */
    lead(to: Fetch) {
      send = to
    },
  }
}

const MADE_UP_TOKEN = JSON.stringify({
  access_token: 'made-up',
  token_type: 'DPoP',
  expires_in: 3600,
})

async function readBody({ body }: Awaited<ReturnType<Fetch>>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body ?? []) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/**
 * A second server on the same store, with a clock that is behind by this much; its answers look
 * like those of the first.
 */
async function openSecondServer(behindMs = 0): Promise<Fetch> {
  const sources = {
    now: () => new Date(test.now() - behindMs),
    monotonicMs: () => test.now(),
    random: (bytes: number) => randomBytes(bytes),
    newId: () => randomUUID(),
  }
  const config = readConfig({}, temporaryDirectory())
  const { store, evidence } = test
  const server = await createServerUnder(UNLIMITED, {
    config,
    sources,
    store,
    evidence,
    logger: false,
  })
  onTestFinished(() => server.close())
  return async (address, { method, headers, body }) => {
    const { host, pathname, search } = new URL(address)
    const { statusCode, rawPayload, ...answer } = await server.app.inject({
      method: method === 'POST' ? 'POST' : 'GET',
      url: `${pathname}${search}`,
      headers: { ...headers, host },
      ...(body === undefined || body === null ? {} : { payload: Buffer.from(body) }),
    })
    const etag = answer.headers.etag ?? ''
    return new Response(new Uint8Array(rawPayload), {
      status: statusCode,
      headers: { ...JSON_TYPE.headers, etag },
    })
  }
}

async function allow(host: string): Promise<string> {
  const policy = await scene.createPolicy(`allow ${host}`)
  const payload = {
    name: 'r',
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: [`${host}:443`],
  }
  const as = scene.owner.as
  const added = await test.send('POST', `${scene.paths.policies}/${policy}/rules`, { as, payload })
  expect(added.statusCode, added.body).toBe(201)
  return policy
}

it('machines follow a rollout, its pause and its roll-back without seeing an attack', async () => {
  await allow('before.test')
  const [ring, other] = [await openMachine(scene.ring), await openMachine(scene.other)]
  const decisions = async (host: string) => [await ring.decide(host), await other.decide(host)]
  expect(await decisions('before.test')).toEqual(['allow', 'allow'])
  const base = await scene.revision()

  const rollout = await scene.start({ stages: [{ label: 'canary' }, { percent: 100 }] })
  await allow('after.test')
  advance(1000)
  expect(await decisions('after.test')).toEqual(['allow', 'deny'])
  expect(other.revision()).toBe(base)
  expect(await decisions('before.test')).toEqual(['allow', 'allow'])

  // Back and forth, at the interval of polls.
  for (const [labels, decision] of [
    [['canary'], 'allow'],
    [[], 'deny'],
    [['canary'], 'allow'],
    [[], 'deny'],
  ] as const) {
    await scene.label(scene.other, labels)
    advance(300_000)
    expect(await other.decide('after.test')).toBe(decision)
    expect(await other.decide('before.test')).toBe('allow')
  }

  await scene.take(rollout, 'advance', { stage: 2 })
  advance(1000)
  expect(await decisions('after.test')).toEqual(['allow', 'allow'])
  const newest = await scene.revision()
  expect(other.revision()).toBe(ring.revision())

  // A rule that only a faulty server can store, and every machine rejects.
  await test.store.transaction(async (writer) => {
    const [policy] = await writer.policies.listWithRules(scene.org)
    if (policy === undefined) throw new Error('there is no policy')
    await writer.policies.insertRule(
      { org: scene.org, policyId: policy.id, updated_at: policy.updated_at },
      {
        id: 'rule_bad',
        name: 'bad',
        actions: ['connect:tcp'],
        decision: 'allow',
        resources: ['a*.b'],
      },
    )
  })
  advance(1000)
  expect(await ring.poll()).toBe('not_compilable')
  expect(await other.poll()).toBe('not_compilable')
  // The server writes reports behind, and evaluates them every few seconds by the clock of the
  // machine.
  await expect.poll(async () => (await scene.status(rollout)).machines?.rejected).toBe(2)
  await expect
    .poll(
      async () => {
        advance(5_000)
        return (await scene.status(rollout)).state
      },
      { interval: 500 },
    )
    .toBe('paused')

  await scene.take(rollout, 'roll-back')
  advance(1000)
  expect(await decisions('after.test')).toEqual(['deny', 'deny'])
  expect(await decisions('before.test')).toEqual(['allow', 'allow'])
  expect(ring.revision()).toBeGreaterThan(newest)
  expect(other.revision()).toBe(ring.revision())
}, 300_000)

it('a replayed assignment does not move a machine out of its stage, or back into one', async () => {
  const recorder = openRecorder()
  const machine = await openMachine(scene.other, recorder.fetch)
  await scene.start({ stages: [{ label: 'canary' }, { percent: 100 }] })
  await allow('after.test')
  expect(await machine.decide('after.test')).toBe('deny')
  const outside = recorder.newest()
  await scene.label(scene.other, ['canary'])
  advance(240_000)
  expect(await machine.decide('after.test')).toBe('allow')
  const inside = recorder.newest()

  recorder.replay(outside)
  expect(await machine.demand()).toBe('older_issue')
  expect(machine.decided('after.test')).toBe('allow')

  await scene.label(scene.other, [])
  advance(240_000)
  expect(await machine.decide('after.test')).toBe('deny')
  recorder.replay(inside)
  expect(await machine.demand()).toBe('older_issue')
  expect(machine.decided('after.test')).toBe('deny')
})

it.each([
  ['with the same clock', 0],
  ['with a clock four minutes behind', 240_000],
])(
  'an assignment dated ahead does not move a machine back after a server %s moved it',
  async (_which, behindMs) => {
    const recorder = openRecorder()
    await scene.label(scene.other, ['canary'])
    const machine = await openMachine(scene.other, recorder.fetch)
    await scene.start({ stages: [{ label: 'canary' }, { percent: 100 }] })
    await allow('after.test')
    expect(await machine.decide('after.test')).toBe('allow')
    const aheadSeconds = Math.floor(test.now() / 1000) + 295
    const ahead = await recorder.keepAnswer(machine, { 'palisade-assigned': String(aheadSeconds) })
    const later = await recorder.keepAnswer(machine, {})

    recorder.lead(await openSecondServer(behindMs))
    await scene.label(scene.other, [])
    advance(1000)
    expect(await machine.decide('after.test')).toBe('deny')

    for (const recorded of [ahead, later]) {
      recorder.replay(recorded)
      expect(await machine.demand()).toBe('older_issue')
      expect(machine.decided('after.test')).toBe('deny')
    }
  },
)

it('an assignment signed before a refusal does not take a machine out of `revoked`', async () => {
  await allow('before.test')
  const recorder = openRecorder()
  const others = openRecorder()
  const machine = await openMachine(scene.other, recorder.fetch)
  const other = await openMachine(scene.ring, others.fetch)
  expect(await machine.decide('before.test')).toBe('allow')
  const aheadSeconds = Math.floor(test.now() / 1000) + 295
  const ahead = await recorder.keepAnswer(machine, { 'palisade-assigned': String(aheadSeconds) })
  const url = `${scene.paths.org}/devices/${scene.other.enrolment.device_id}`
  await test.send('DELETE', url, { as: scene.owner.as })
  advance(5_000)
  expect([await machine.demand(), await machine.demand()]).toContain('revoked')
  expect(machine.state()).toBe('revoked')

  advance(60_000)
  await allow('after.test')
  expect(await other.decide('after.test')).toBe('allow')
  const { assignment } = JSON.parse(ahead) as Bundle
  const { files } = JSON.parse(others.newest()) as Bundle
  recorder.replay(JSON.stringify({ ...(JSON.parse(ahead) as Bundle), assignment, files }))
  expect(await machine.demand()).toBeNull()

  expect(machine.decided('after.test')).toBe('allow')
  expect(machine.state()).toBe('revoked')
})

it('a machine follows several moves within one second', async () => {
  const machine = await openMachine(scene.other)
  await scene.start({ stages: [{ label: 'canary' }, { percent: 100 }] })
  await allow('after.test')

  for (const [labels, decision] of [
    [['canary'], 'allow'],
    [[], 'deny'],
    [['canary'], 'allow'],
    [[], 'deny'],
  ] as const) {
    await scene.label(scene.other, labels)
    expect(await machine.decide('after.test')).toBe(decision)
  }
})

it('a machine whose clock was ahead gets a new timestamp ten minutes after the last', async () => {
  await allow('a.test')
  // Nothing else is due for an hour.
  const { view } = await openViewDevice(test, scene.other)
  advance(startOfPeriod(test.now(), view, HOUR_MS) + HOUR_MS - test.now())
  const machine = await openMachine(scene.other)
  expect(await machine.decide('a.test')).toBe('allow')
  machine.setAhead(10 * 365 * 86_400_000)
  expect([machine.state(), machine.decided('a.test')]).toEqual(['expired', 'deny'])
  machine.setAhead(0)

  advance(599_000)
  expect(await machine.poll()).toBeNull()
  expect([machine.state(), machine.decided('a.test')]).toEqual(['expired', 'deny'])
  advance(1000)
  expect(await machine.poll()).toBeNull()
  expect([machine.state(), machine.decided('a.test')]).toEqual(['fresh', 'allow'])
})
