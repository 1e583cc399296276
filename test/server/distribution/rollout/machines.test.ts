import type { Fetch } from '@palisade/client'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { describeReport } from '../../../../agent/src/report/describe-report.ts'
import { createDeviceAccess } from '../../../../agent/src/sync/device-access.ts'
import { createStateStore } from '../../../../agent/src/sync/state-store.ts'
import { createSynchronizer } from '../../../../agent/src/sync/synchronizer.ts'
import { createViewChannel } from '../../../../agent/src/sync/view-channel.ts'
import { createFileFetcher } from '../../../../agent/src/sync/view-client.ts'
import { startOfSlot } from '../../../../server/src/distribution/views/slot.ts'
import { activePolicy } from '../../../agent/fixture/active-policy.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import type { TestDevice } from '../../test-device.ts'
import { openViewDevice } from '../views/view-device.ts'
import { openRolloutScene, POLICIES, type RolloutScene } from './rollout-scene.ts'

const HOUR_MS = 3_600_000
const never = new AbortController().signal

/** A machine that judges what it is served as every agent does. */
interface Machine {
  /** One poll, which must not fail; then says what is asked of it. */
  decide(host: string): Promise<string>
  /** The code of the failure of one poll; null for none. Reports it. */
  poll(): Promise<string | null>
  /** The same where an update is asked for at once. */
  demand(): Promise<string | null>
  state(): string
  /** Its clock shows so much more than that of the server. */
  setAhead(ms: number): void
  /** Without a poll. */
  decided(host: string): string
  revision(): number | null
}

let scene: RolloutScene
let url: string

beforeEach(async () => {
  scene = await openRolloutScene()
  url = await scene.test.server.app.listen({ host: '127.0.0.1', port: 0 })
  // tuf-js reads the clock of the process.
  vi.useFakeTimers({ toFake: ['Date'], now: scene.test.now() })
  onTestFinished(() => void vi.useRealTimers())
})

function advance(ms: number): void {
  scene.test.advance(ms)
  vi.setSystemTime(scene.test.now())
}

async function openMachine(
  { enrolment, prove }: TestDevice,
  fetch: Fetch = globalThis.fetch,
): Promise<Machine> {
  const { active, clock, surroundings } = activePolicy()
  let aheadMs = 0
  const wall = () => (surroundings.nowMs = scene.test.now() + aheadMs)
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
  const synchronizer = createSynchronizer({ active, channel, org: 'acme', clock: wall })
  await synchronizer.restore()
  async function poll(isNewsExpected = false): Promise<string | null> {
    wall()
    const { error } = await synchronizer.run(never, isNewsExpected)
    const body = JSON.stringify(
      describeReport(active, synchronizer.record(), { agent_version: '0.1.0', grant: null }),
    )
    const path = '/api/v1/device/report'
    const told = await fetchFile({ path, maxBytes: 1024, body }, never)
    expect(told.kind).toBe('body')
    return error?.code ?? null
  }
  const decided = (host: string): string =>
    active.decide({ action: 'connect:tcp', host, port: 443 }).decision
  return {
    poll,
    demand: () => poll(true),
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

/** A way to the server that records updates, and gives a recorded one in place of the next. */
function openRecorder() {
  const recorded: string[] = []
  let replayed: string | null = null
  const fetch: Fetch = async (url, asked) => {
    const answer = await globalThis.fetch(url, asked)
    if (!url.includes('/device/update')) return answer
    if (replayed !== null) {
      const again = new Response(replayed, { headers: { 'content-type': 'application/json' } })
      replayed = null
      return again
    }
    if (answer.status === 200) recorded.push(await answer.clone().text())
    return answer
  }
  return {
    fetch,
    newest: () => recorded.at(-1) ?? '',
    replay(update: string) {
      replayed = update
    },
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
  const added = await scene.test.send('POST', `${POLICIES}/${policy}/rules`, { as, payload })
  expect(added.statusCode, added.body).toBe(201)
  return policy
}

it('machines follow a rollout, its pause and its way back, and take nothing of it for an attack', async () => {
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

  // To and fro, as long apart as machines poll.
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

  // A rule that no administrator can write, and every machine refuses.
  await scene.test.store.transaction(async (writer) => {
    const [policy] = await writer.policies.listWithRules('acme')
    if (policy === undefined) throw new Error('there is no policy')
    await writer.policies.insertRule(
      { org: 'acme', policyId: policy.id, updated_at: policy.updated_at },
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
  // The server writes reports behind, and judges them every few seconds by the clock of the machine.
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

it('no recorded assignment moves a machine out of its stage, or back into one', async () => {
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

it('a machine that is moved several times in one second follows each time', async () => {
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

it('a machine whose clock was ahead asks for a timestamp, and has it ten minutes after the last', async () => {
  await allow('a.test')
  // For an hour nothing else is due.
  const { view } = await openViewDevice(scene.test, scene.other)
  advance(startOfSlot(scene.test.now(), view, HOUR_MS) + HOUR_MS - scene.test.now())
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
