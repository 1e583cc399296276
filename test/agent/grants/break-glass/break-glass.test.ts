import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NOW_MS, policyOf } from '../../fixture/bundle.ts'
import { fileOf, grantOf, signChanged, type GrantDraft } from '../../fixture/grant.ts'
import {
  HOUR_MS,
  inForce,
  never,
  policies,
  request,
  setUp,
  type Scene,
} from '../../fixture/sync-scene.ts'
import { refuseKey } from '../../fixture/policy-server.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { createKeys, createRepository, serve } from '../../fixture/view-repository.ts'

const DAY_MS = 24 * HOUR_MS
const MINUTE_MS = 60_000
const DENIED = { action: 'read', path: '/data/secret' }

/** A machine with an expired bundle and an unreachable server. */
async function expired(): Promise<Scene> {
  const scene = await setUp()
  const released = policyOf(['allow', 'read', '/data/**'], ['deny', 'read', '/data/secret'])
  const first = await scene.sync(scene.repository.release({ policies: [released] }))
  expect(first).toMatchObject({ outcome: 'updated', revision: 7 })
  pass(scene, 8 * DAY_MS)
  expect(scene.active.state()).toBe('expired')
  return scene
}

/** Advances all clocks. */
function pass(scene: Scene, ms: number): void {
  scene.surroundings.uptimeMs += ms
  scene.setClock(scene.surroundings.nowMs + ms)
}

/** Advances all clocks while the agent runs, which ticks twice a minute. */
async function live(scene: Scene, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 30_000) {
    pass(scene, Math.min(30_000, ms - passed))
    await scene.breakGlass.tick()
  }
}

const issue = (scene: Scene, draft: GrantDraft = {}) =>
  grantOf(scene.repository.keys.targets, { atMs: scene.surroundings.nowMs, ...draft })
const begin = async (scene: Scene, grant: unknown) =>
  (await scene.breakGlass.begin(fileOf(grant)))?.code ?? 'begun'
const enforced = ({ active }: Scene) =>
  [active.state(), ...[request, DENIED].map((each) => active.decide(each).decision)].join(' ')
const LIFTED = 'break_glass allow deny'
const SHUT = 'expired deny deny'

/** The same machine after a restart, killed before unless it was stopped. */
async function restart(scene: Scene, nowMs = scene.surroundings.nowMs): Promise<Scene> {
  const directory = await temporaryDirectory()
  await cp(scene.directory, directory, { recursive: true })
  return setUp(directory, scene.repository, nowMs)
}

describe('a break-glass grant', () => {
  it('restores the allows of expired policies, but not of a denied path', async () => {
    const scene = await expired()
    expect(enforced(scene)).toBe(SHUT)
    const before = scene.active.decide(request)

    expect(await begin(scene, issue(scene))).toBe('begun')

    expect(enforced(scene)).toBe(LIFTED)
    expect(scene.active.decide(request)).toMatchObject({ stale: true, break_glass: true })
    expect(scene.active.decide(DENIED)).toMatchObject({ reason: 'rule', break_glass: true })
    expect(scene.active.explain(request)).toMatchObject({ decision: 'allow', break_glass: true })
    expect(before).not.toHaveProperty('break_glass')
    expect(scene.breakGlass.inForce()).toEqual({
      id: 'g1',
      reason: 'the office is offline',
      issued_by: 'user:ann',
      begun_at: '2026-11-29T12:00:00Z',
      until: '2026-11-29T13:00:00Z',
    })
    expect(scene.lines).toEqual(['break-glass: a grant is in force'])
  })

  it('ends for good at its time, and logs the end', async () => {
    const scene = await expired()
    const grant = issue(scene)
    await begin(scene, grant)
    await live(scene, HOUR_MS - 1)
    expect(enforced(scene)).toBe(LIFTED)

    await live(scene, 1)

    expect(enforced(scene)).toBe(SHUT)
    expect(scene.breakGlass.inForce()).toBeNull()
    expect(scene.lines.at(-1)).toBe('break-glass: the grant is over')
    scene.setClock(scene.surroundings.nowMs - 2 * HOUR_MS)
    expect(enforced(scene)).toBe(SHUT)
    const again = await restart(scene, NOW_MS)
    expect(again.breakGlass.inForce()).toBeNull()
    expect(await begin(again, grant)).toBe('already_used')
  })

  it('is over after a restart even if its end was not written to disk', async () => {
    const scene = await expired()
    await begin(scene, issue(scene))
    await live(scene, HOUR_MS - 1)
    const beganMs = scene.surroundings.nowMs - HOUR_MS

    const again = await restart(scene, beganMs)

    expect(again.breakGlass.inForce()).toBeNull()
  })

  it('ends at once and for good when a person ends it', async () => {
    const scene = await expired()
    expect((await scene.breakGlass.end())?.code).toBe('none_in_force')
    await begin(scene, issue(scene))

    expect(await scene.breakGlass.end()).toBeNull()

    expect(enforced(scene)).toBe(SHUT)
    expect(enforced(await restart(scene))).toBe(SHUT)
    expect(await begin(scene, issue(scene))).toBe('already_used')
    expect(scene.active.decide(request)).not.toHaveProperty('break_glass')
  })

  it('logs a reminder every ten minutes', async () => {
    const scene = await expired()
    await begin(scene, issue(scene, { minutes: 25 }))

    await live(scene, 25 * MINUTE_MS)

    const reminder = 'break-glass: a grant is still in force'
    expect(scene.lines).toEqual([
      'break-glass: a grant is in force',
      reminder,
      reminder,
      'break-glass: the grant is over',
    ])
  })

  it('is accepted once, even if the clock, the process or one state copy changes', async () => {
    const scene = await expired()
    const grant = issue(scene)
    await begin(scene, grant)
    expect(await begin(scene, issue(scene, { id: 'g2' }))).toBe('already_in_force')
    await scene.breakGlass.end()

    expect(await begin(scene, grant)).toBe('already_used')
    const other = issue(scene, { id: 'g2' })
    await scene.synchronizer.keepTime()
    scene.setClock(NOW_MS)
    expect(await begin(scene, grant)).toBe('already_used')
    for (const copy of ['state.json', 'state.previous.json']) {
      const again = await restart(scene)
      await rm(join(again.directory, copy))
      const left = await restart(again)
      expect(enforced(left)).toBe(SHUT)
      expect(await begin(left, grant)).toBe('already_used')
      expect(await begin(left, other)).toBe('begun')
    }
  })

  it('is still remembered after later fetches', async () => {
    const scene = await expired()
    const grant = issue(scene)
    await begin(scene, grant)
    await scene.breakGlass.end()
    const atMs = scene.surroundings.nowMs

    for (let count = 0; count < 3; count += 1)
      expect(await scene.sync(scene.repository.release({ policies, atMs }))).toMatchObject({
        error: null,
      })

    expect(await begin(scene, grant)).toBe('already_used')
    expect(await begin(await restart(scene), grant)).toBe('already_used')
  })

  it('is remembered among many, and grants older than the forgotten ones are refused', async () => {
    const scene = await expired()
    const grants = Array.from({ length: 34 }, (_, index) =>
      issue(scene, { id: `g${index}`, atMs: scene.surroundings.nowMs + index * 1000 }),
    )
    const unused = issue(scene, { id: 'unused' })
    const newer = issue(scene, { id: 'newer', atMs: scene.surroundings.nowMs + 6000 })
    for (const grant of grants) {
      expect(await begin(scene, grant)).toBe('begun')
      await scene.breakGlass.end()
    }

    const again = await restart(scene)
    for (const grant of [...grants, unused]) expect(await begin(again, grant)).toBe('already_used')
    expect(await begin(again, newer)).toBe('begun')
  })
})

describe('the remaining time of a grant', () => {
  it('continues after a restart instead of starting again', async () => {
    const scene = await expired()
    await begin(scene, issue(scene))
    await live(scene, 40 * MINUTE_MS)
    await scene.breakGlass.stop()

    const again = await restart(scene)

    expect(enforced(again)).toBe(LIFTED)
    expect(again.lines).toEqual(['break-glass: the grant continues'])
    expect(again.breakGlass.inForce()).toMatchObject({ until: '2026-11-29T13:00:00Z' })
    pass(again, 20 * MINUTE_MS)
    expect(enforced(again)).toBe(SHUT)
  })

  it('passes while the machine is off', async () => {
    const scene = await expired()
    await begin(scene, issue(scene))

    const later = await restart(scene, scene.surroundings.nowMs + HOUR_MS)

    expect(enforced(later)).toBe(SHUT)
  })

  it('is not prolonged by setting the clock back or by killing the agent repeatedly', async () => {
    let scene = await expired()
    await begin(scene, issue(scene, { minutes: 3 }))
    const beganMs = scene.surroundings.nowMs

    let lived = 0
    for (; lived < 40 && enforced(scene) === LIFTED; lived += 1) {
      await live(scene, 29_000)
      scene = await restart(scene, beganMs)
    }

    // Each kill loses the time paid ahead, so the sum is less than three minutes.
    expect(lived).toBeGreaterThan(1)
    expect(lived * 29_000).toBeLessThan(3 * MINUTE_MS)
    expect(enforced(scene)).toBe(SHUT)
  })

  it('is not prolonged by killing the agent before its first check', async () => {
    let scene = await expired()
    await begin(scene, issue(scene, { minutes: 3 }))
    const beganMs = scene.surroundings.nowMs

    let lived = 0
    for (; lived < 40 && enforced(scene) === LIFTED; lived += 1) {
      pass(scene, 20_000)
      scene = await restart(scene, beganMs)
    }

    expect(lived).toBeGreaterThan(1)
    expect(lived * 20_000).toBeLessThan(3 * MINUTE_MS)
    expect(enforced(scene)).toBe(SHUT)
  })

  it('loses the paid time that had not passed at a kill', async () => {
    const scene = await expired()
    await begin(scene, issue(scene, { minutes: 10 }))
    const beganMs = scene.surroundings.nowMs

    const killed = await restart(scene, beganMs)

    expect(killed.breakGlass.inForce()).toMatchObject({ until: '2026-11-29T12:09:00Z' })
    await killed.breakGlass.stop()
    const stopped = await restart(killed, beganMs)
    expect(stopped.breakGlass.inForce()).toMatchObject({ until: '2026-11-29T12:09:00Z' })
  })

  it('is zero when the elapsed time is unknown', async () => {
    for (const damage of [
      (file: string) => rm(file),
      (file: string) => writeFile(file, '{}', { mode: 0o600 }),
    ]) {
      const scene = await expired()
      await begin(scene, issue(scene))
      await damage(join(scene.directory, 'grant.json'))

      const again = await restart(scene)

      expect(enforced(again)).toBe(SHUT)
      expect(enforced(await restart(again))).toBe(SHUT)
      expect(await begin(again, issue(scene))).toBe('already_used')
    }
  })

  it('ends with other targets keys, and continues with the same ones', async () => {
    const scene = await expired()
    const { keys } = scene.repository
    await begin(scene, issue(scene))
    const atMs = scene.surroundings.nowMs
    scene.repository.rotate({ ...keys, online: createKeys().online })
    await scene.sync(scene.repository.release({ policies, atMs }))
    expect(scene.active.state()).toBe('break_glass')

    scene.repository.rotate({ ...keys, targets: createKeys().targets })
    await scene.sync(scene.repository.release({ policies, atMs }))

    expect(scene.active.state()).toBe('fresh')
    expect(scene.breakGlass.inForce()).toBeNull()
    expect((await restart(scene)).breakGlass.inForce()).toBeNull()
  })

  it('does not count while the machine is revoked', async () => {
    const scene = await expired()
    await begin(scene, issue(scene))

    scene.active.apply({ kind: 'revoked' })
    expect(enforced(scene)).toBe('revoked deny deny')
    scene.active.apply({ kind: 'second_enrolment' })
    expect(enforced(scene)).toBe('conflict deny deny')
  })

  it('does not count on a revoked machine, even after a start without a server', async () => {
    const scene = await expired()
    await begin(scene, issue(scene))
    scene.server.answerToken = refuseKey
    scene.server.answer = refuseKey
    await scene.synchronizer.run(never)
    expect(enforced(scene)).toBe('revoked deny deny')

    for (const lost of ['none', 'state.json', 'state.previous.json']) {
      const directory = await temporaryDirectory()
      await cp(scene.directory, directory, { recursive: true })
      await rm(join(directory, lost), { force: true })
      const again = await setUp(directory, scene.repository, scene.surroundings.nowMs)
      expect(enforced(again)).toBe('revoked deny deny')
      await again.breakGlass.end()
      expect(await begin(again, issue(scene, { id: 'g2' }))).toBe('not_possible')
      if (lost !== 'none') continue

      const nowMs = again.surroundings.nowMs + 1000
      again.setClock(nowMs)
      again.server.answer = (asked, response) => {
        const assignment = { nonce: String(asked.headers['palisade-nonce']) }
        const readmission = scene.repository.release({ policies, atMs: nowMs, assignment })
        serve(readmission)(asked, response)
      }
      await again.synchronizer.run(never)
      expect(again.active.state()).toBe('fresh')
      expect((await restart(again)).active.state()).toBe('fresh')
    }
  })
})

describe('a grant is refused', () => {
  it('for another device or organization, or by another key', async () => {
    const scene = await expired()
    const { keys } = scene.repository
    const atMs = scene.surroundings.nowMs

    expect(await begin(scene, issue(scene, { device_id: 'dev_2' }))).toBe('wrong_device')
    expect(await begin(scene, issue(scene, { org: 'rival' }))).toBe('wrong_organization')
    expect(await begin(scene, grantOf(createKeys().targets, { atMs }))).toBe('bad_signature')
    expect(await begin(scene, grantOf(keys.online, { atMs }))).toBe('bad_signature')
    expect(await begin(scene, grantOf(keys.root, { atMs }))).toBe('bad_signature')
    expect(enforced(scene)).toBe(SHUT)
    expect(await begin(scene, issue(scene))).toBe('begun')
  })

  it.each([
    ['longer', { duration_seconds: 7200 }],
    ['for another machine', { device_id: 'dev_1x' }],
    ['under another id', { id: 'g2' }],
    ['for another reason', { reason: 'none' }],
    ['valid until later', { use_by: '2026-12-05T12:00:00Z' }],
  ])('that was changed after signing to be %s', async (_title, members) => {
    const scene = await expired()
    const grant = issue(scene)

    const code = await begin(scene, { ...grant, signed: { ...grant.signed, ...members } })

    expect(code).toBe('device_id' in members ? 'wrong_device' : 'bad_signature')
    expect(enforced(scene)).toBe(SHUT)
  })

  it.each([
    ['an unknown version', { version: 2 }, 'unsupported_grant'],
    ['another type', { _type: 'device_view' }, 'malformed'],
    ['more than a day', { duration_seconds: 86_401 }, 'malformed'],
    ['no time', { duration_seconds: 0 }, 'malformed'],
    ['negative time', { duration_seconds: -60 }, 'malformed'],
    ['a broken time', { duration_seconds: 60.5 }, 'malformed'],
    ['an invalid end', { use_by: 'never' }, 'malformed'],
    ['an end in the year 9999', { use_by: '9999-12-31T23:59:59Z' }, 'lives_too_long'],
    ['an unknown member', { also: 'everything' }, 'malformed'],
    ['a reason with two lines', { reason: 'a\nb' }, 'malformed'],
    ['an id that is a path', { id: '../g1' }, 'malformed'],
    ['an empty id', { id: '' }, 'malformed'],
  ])('that has %s, even if it is signed', async (_title, members, code) => {
    const scene = await expired()
    const { targets } = scene.repository.keys

    expect(await begin(scene, signChanged(issue(scene), members, targets))).toBe(code)
    expect(enforced(scene)).toBe(SHUT)
  })

  it('with hostile JSON, and the machine continues', async () => {
    const scene = await expired()
    const grant = issue(scene)
    const text = fileOf(grant).toString()
    const twice = text.replace('"org":', '"duration_seconds":86400,"org":')
    const hostile: readonly (readonly [string, Buffer | string])[] = [
      ['malformed', ''],
      ['malformed', 'null'],
      ['malformed', '[]'],
      ['malformed', '{"signed":{},"signatures":[]}'],
      ['malformed', text.slice(0, -10)],
      ['malformed', twice],
      ['malformed', `${'['.repeat(100)}${']'.repeat(100)}`],
      ['malformed', text.replace('"signed"', '"__proto__"')],
      ['malformed', Buffer.from([0xff, 0xfe, 0x00])],
      ['malformed', JSON.stringify({ ...grant, signatures: [{ keyid: 1 }] })],
      ['bad_signature', JSON.stringify({ ...grant, signatures: [] })],
      [
        'bad_signature',
        JSON.stringify({ ...grant, signatures: [{ keyid: '__proto__', sig: 'zz' }] }),
      ],
      ['too_large', Buffer.alloc(16 * 1024 + 1, ' ')],
    ]

    for (const [code, body] of hostile)
      expect(await scene.breakGlass.begin(Buffer.from(body))).toMatchObject({ code })

    expect(enforced(scene)).toBe(SHUT)
    expect(await begin(scene, grant)).toBe('begun')
  })

  it('that comes too late, too early, or after the keys have expired', async () => {
    const scene = await expired()
    const { nowMs } = scene.surroundings
    const late = issue(scene, { useWithinMinutes: 60 })
    pass(scene, HOUR_MS)
    expect(await begin(scene, late)).toBe('expired')
    scene.setClock(nowMs)
    expect(await begin(scene, late)).toBe('expired')

    const early = issue(scene, { atMs: nowMs + HOUR_MS + 11 * MINUTE_MS })
    expect(await begin(scene, early)).toBe('issued_in_future')
    const ahead = issue(scene, { id: 'ahead', atMs: nowMs + HOUR_MS + 9 * MINUTE_MS })
    expect(await begin(scene, ahead)).toBe('begun')
    await scene.breakGlass.end()

    pass(scene, 400 * DAY_MS)
    expect(await begin(scene, issue(scene, { id: 'later' }))).toBe('expired')
    expect(enforced(scene)).toBe(SHUT)
  })

  it('by a machine that knows newer keys, even if it was never begun', async () => {
    const scene = await inForce()
    const grant = issue(scene)
    scene.repository.rotate({ ...scene.repository.keys, targets: createKeys().targets })
    await scene.sync(scene.repository.release({ policies }))

    expect(await begin(scene, grant)).toBe('bad_signature')
  })

  it('where it would lift no expiry, and may be begun later', async () => {
    const fresh = await setUp()
    expect(await begin(fresh, issue(fresh))).toBe('not_possible')
    const scene = await expired()
    const grant = issue(scene)

    for (const [kind, back] of [
      ['second_enrolment', 'single_enrolment'],
      ['revoked', 'readmitted'],
    ] as const) {
      scene.active.apply({ kind })
      expect(await begin(scene, grant)).toBe('not_possible')
      scene.active.apply({ kind: back })
      expect(enforced(scene)).toBe(SHUT)
    }

    expect(await begin(scene, grant)).toBe('begun')
  })

  it('while the policies are fresh, and stays valid for their expiry', async () => {
    const scene = await setUp()
    await scene.sync(scene.repository.release({ policies }))
    const grant = issue(scene, { useWithinMinutes: 14_400 })

    expect(scene.active.state()).toBe('fresh')
    expect((await scene.breakGlass.begin(fileOf(grant)))?.message).toContain('nothing to lift')
    expect(await begin(scene, grant)).toBe('nothing_to_lift')
    scene.active.apply({ kind: 'refused' })
    expect(scene.active.state()).toBe('rejected')
    expect(await begin(scene, grant)).toBe('nothing_to_lift')
    expect(await begin(await restart(scene), grant)).toBe('nothing_to_lift')
    expect(scene.breakGlass.inForce()).toBeNull()

    pass(scene, 8 * DAY_MS)
    expect(await begin(scene, grant)).toBe('begun')
  })

  it('before the policies expire, unless they expire during the grant', async () => {
    const scene = await setUp()
    await scene.sync(scene.repository.release({ policies }))
    const expiresMs = Date.parse(scene.active.current()?.bundle.expires_at ?? '')
    const grant = issue(scene, { minutes: 60, useWithinMinutes: 14_400 })

    pass(scene, expiresMs - HOUR_MS - 1 - scene.surroundings.nowMs)
    expect(scene.active.state()).toBe('stale')
    expect(await begin(scene, grant)).toBe('nothing_to_lift')

    pass(scene, 1)
    expect(await begin(scene, grant)).toBe('nothing_to_lift')
    pass(scene, 1)
    expect(await begin(scene, grant)).toBe('begun')
    expect(scene.active.state()).toBe('break_glass')
    await live(scene, HOUR_MS - 2)
    expect(enforced(scene)).toMatch(/^break_glass allow/)
    await live(scene, 2)
    expect(enforced(scene)).toMatch(/^expired deny/)
  })

  it('while the newest bundle is unsupported or the kept one is damaged', async () => {
    const scene = await inForce()
    const custom = { schema: 99 }
    await scene.sync(scene.repository.release({ policies, revision: 8, custom }))
    expect(scene.active.state()).toBe('unsupported')
    expect(await begin(scene, issue(scene))).toBe('not_possible')

    const damaged = await inForce()
    await rm(join(damaged.directory, 'documents'), { recursive: true })
    const again = await restart(damaged)
    expect(again.active.state()).toBe('corrupt')
    expect(await begin(again, issue(again))).toBe('not_possible')
    expect(again.active.decide(request).decision).toBe('deny')
  })

  it('by a machine of another organization, even with a valid signature of its keys', async () => {
    const rival = createRepository(undefined, { org: 'rival' })
    const scene = await expired()
    const grant = grantOf(rival.keys.targets, { atMs: scene.surroundings.nowMs })

    expect(await begin(scene, grant)).toBe('bad_signature')
    await scene.synchronizer.run(never)
    expect(enforced(scene)).toBe(SHUT)
  })
})
