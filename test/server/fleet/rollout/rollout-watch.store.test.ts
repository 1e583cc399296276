import type { HistoryEvent } from '@palisade/protocol'
import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createRolloutWatch,
  type RolloutWatch,
} from '../../../../server/src/fleet/rollout/rollout-watch.ts'
import { createViewPublisher } from '../../../../server/src/views/publication/view-publisher.ts'
import { ensureViewSecret } from '../../../../server/src/views/content/view-id.ts'
import { viewRefOf } from '../../../../server/src/views/assigned-view.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import type { TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openRolloutScene, openRolloutServer, type RolloutScene } from './rollout-scene.ts'

let test: TestServer
let scene: RolloutScene
let watch: RolloutWatch
let errors: unknown[]

/** The watch of one server; each call is another server on the same store. */
function openWatch(): RolloutWatch {
  const { store, now: nowMs } = test
  const now = () => new Date(nowMs())
  const publisher = createViewPublisher({ store, now })
  const revisionOf = async (org: string, teams: readonly string[]) => {
    const secret = await ensureViewSecret(store, org, (bytes) => randomBytes(bytes))
    return publisher.revision(viewRefOf(secret, org, { teams, base: null }))
  }
  const audited = createAuditedStore({ store, now })
  const onError = (error: unknown) => void errors.push(error)
  return createRolloutWatch({ store, audited, views: { revisionOf }, now, onError })
}

const atEnd = atEndOfTests()
beforeAll(async () => {
  test = await openRolloutServer(atEnd)
})
beforeEach(async () => {
  errors = []
  scene = await openRolloutScene(test)
  watch = openWatch()
})

/** Advances the clock until all reports can be evaluated again. */
async function evaluate(): Promise<void> {
  test.advance(10_000)
  await watch.evaluateDue()
  expect(errors).toEqual([])
}
async function eventsOf(kind: string): Promise<HistoryEvent[]> {
  const as = scene.owner.as
  const feed = await test.send('GET', `${scene.paths.org}/events?kind=${kind}`, { as })
  return feed.json().data
}

describe('a watched rollout', () => {
  it('pauses when rejections exceed the limit, with an event', async () => {
    const rollout = await scene.start({ max_rejected: { machines: 1 } })
    const second = await scene.enrol(['canary'])
    await scene.createPolicy('bad')
    await scene.report(scene.ring, await scene.revision(), 'not_compilable')
    await evaluate()
    expect((await scene.status(rollout)).state).toBe('running')

    await scene.report(second, rollout.base_revision, 'not_compilable')
    await scene.report(scene.ring, rollout.base_revision, 'not_compilable')
    await evaluate()

    const actor = `rollout:${scene.org}:${rollout.id}`
    const reason = '2 of 2 machines reject it, at most 1 may: 2 not_compilable'
    expect(await scene.status(rollout)).toMatchObject({
      state: 'paused',
      paused: { by: actor, reason },
      machines: { devices: 2, rejected: 2, held_back: 1 },
    })
    expect(await eventsOf('rollout.paused')).toMatchObject([
      { actor, address: null, subject: { id: rollout.id }, after: { paused: { reason } } },
    ])
    await evaluate()
    expect(await eventsOf('rollout.paused')).toHaveLength(1)
  })

  it('counts only machines within its stages, and only rejections of policies', async () => {
    const { other, ring } = scene
    const rollout = await scene.start()
    await scene.createPolicy('second')
    await scene.report(other, rollout.base_revision, 'not_compilable')
    await scene.report(ring, rollout.base_revision)
    await test.store.transaction(async (writer) => {
      const device_id = ring.enrolment.device_id
      const reports = await writer.deviceReports.list([device_id])
      const report = reports.get(device_id)
      if (report === undefined) throw new Error('there is no report')
      await writer.deviceReports.put([{ ...report, error_code: 'unreachable', error_detail: '' }])
    })

    await evaluate()
    expect(await scene.status(rollout)).toMatchObject({
      state: 'running',
      machines: { rejected: 0, pending: 1, held_back: 1 },
    })

    await scene.take(rollout, 'advance', { stage: 2 })
    await evaluate()
    expect((await scene.status(rollout)).state).toBe('paused')
  })

  it('ignores rejections from before its start or its resumption', async () => {
    const { ring } = scene
    await scene.report(ring, 0, 'bad_signature')
    test.advance(1)
    const rollout = await scene.start()
    await scene.createPolicy('second')
    await evaluate()
    expect((await scene.status(rollout)).state).toBe('running')

    await scene.report(ring, 0, 'bad_signature')
    await evaluate()
    expect((await scene.status(rollout)).state).toBe('paused')
    test.advance(1)
    await scene.take(rollout, 'resume', {})
    await evaluate()
    expect((await scene.status(rollout)).state).toBe('running')
    await scene.report(ring, 0, 'bad_signature')
    await evaluate()
    expect((await scene.status(rollout)).state).toBe('paused')
  })

  it('ignores revoked machines, so that a lying machine can be excluded', async () => {
    const { owner, ring } = scene
    const rollout = await scene.start()
    await scene.createPolicy('second')
    await scene.report(ring, 0, 'not_compilable')
    await test.send('DELETE', `${scene.paths.org}/devices/${ring.enrolment.device_id}`, {
      as: owner.as,
    })

    await evaluate()

    expect((await scene.status(rollout)).state).toBe('running')
  })

  it('ignores machines that never reported, so that bare keys do not delay it', async () => {
    const { ring } = scene
    const rollout = await scene.start({ wait_seconds: 60 })
    await evaluate()
    const [first] = [await scene.enrol(['canary']), await scene.enrol(['canary'])]
    await scene.report(ring, await scene.revision())
    expect((await scene.status(rollout)).machines).toMatchObject({
      devices: 1,
      applied: 1,
      never_seen: 2,
      held_back: 1,
    })

    await scene.report(first, 0)
    await scene.enrol(['canary'])
    const heard = { devices: 2, applied: 1, pending: 1, never_seen: 2 }
    expect((await scene.status(rollout)).machines).toMatchObject(heard)

    test.advance(60_000)
    await scene.report(first, 0)
    await evaluate()
    // The one that reported without the revision exceeds the limit of 0.
    expect((await scene.status(rollout)).stage).toBe(1)
    await scene.report(first, await scene.revision())
    await evaluate()
    expect((await scene.status(rollout)).stage).toBe(2)
  })

  it('advances after the wait when its machines are ready, and finishes at the last', async () => {
    const { other, ring } = scene
    const rollout = await scene.start({ wait_seconds: 60 })
    await scene.report(other, rollout.base_revision)
    await evaluate()
    await scene.createPolicy('second')
    const revision = await scene.revision()
    test.advance(50_000)
    await scene.report(ring, revision)
    // The change is noticed only now, so the wait starts again.
    await evaluate()
    expect((await scene.status(rollout)).stage).toBe(1)
    test.advance(50_000)
    await evaluate()

    expect(await scene.status(rollout)).toMatchObject({ stage: 2, state: 'running' })
    expect((await scene.enforced(other)).names).toEqual(['first', 'second'])
    test.advance(60_000)
    await evaluate()
    expect((await scene.status(rollout)).state).toBe('running')
    await scene.report(other, revision)
    await evaluate()
    expect((await scene.status(rollout)).state).toBe('finished')
    const actors = [
      ...(await eventsOf('rollout.advanced')),
      ...(await eventsOf('rollout.finished')),
    ]
    expect(actors.map(({ actor }) => actor)).toEqual(
      Array.from({ length: 2 }, () => `rollout:${scene.org}:${rollout.id}`),
    )
  })

  it('does not advance while it is paused, or without reports of its machines', async () => {
    const { ring } = scene
    const rollout = await scene.start({ wait_seconds: 60 })
    await evaluate()
    test.advance(120_000)
    await evaluate()
    expect((await scene.status(rollout)).stage).toBe(1)

    await scene.report(ring, await scene.revision())
    await scene.take(rollout, 'pause')
    await evaluate()

    expect(await scene.status(rollout)).toMatchObject({ stage: 1, state: 'paused' })
  })

  it('advances by one stage with several servers', async () => {
    const stages = [{ label: 'canary' }, { percent: 50 }, { percent: 100 }]
    const rollout = await scene.start({ stages, wait_seconds: 60 })
    await evaluate()
    await scene.report(scene.ring, await scene.revision())
    await scene.report(scene.other, await scene.revision())
    test.advance(120_000)

    const servers = Array.from({ length: 4 }, openWatch)
    await Promise.all(servers.map((server) => server.evaluateDue()))
    await Promise.all(servers.map((server) => server.evaluateDue()))

    expect(errors).toEqual([])
    expect(await scene.status(rollout)).toMatchObject({ stage: 2, state: 'running' })
    expect(await eventsOf('rollout.advanced')).toHaveLength(1)
  })

  it('does not act on stale facts after a concurrent change', async () => {
    const { ring } = scene
    const rollout = await scene.start({ wait_seconds: 60 })
    await evaluate()
    await scene.report(ring, await scene.revision())
    test.advance(120_000)
    const { store } = test
    // A policy changes between the count and the write.
    const audited = createAuditedStore({ store, now: () => new Date(test.now()) })
    const now = () => new Date(test.now())
    let isChanged = false
    const late = createRolloutWatch({
      store,
      now,
      views: { revisionOf: async () => 0 },
      onError: (error) => void errors.push(error),
      audited: {
        ...audited,
        async write(author, work) {
          if (!author.actor.startsWith(`rollout:${scene.org}:`)) return audited.write(author, work)
          if (!isChanged) await scene.createPolicy('in between')
          isChanged = true
          return audited.write(author, work)
        },
      },
    })

    await late.evaluateDue()

    expect([errors, isChanged]).toEqual([[], true])
    expect((await scene.status(rollout)).stage).toBe(1)
  })
})
