import { makeSelfTest } from '@palisade/policy-core'
import { formatSelfTest, type PolicyBody } from '@palisade/protocol'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { createSelfTestMemory } from '../../../../agent/src/sync/state/self-test-memory.ts'
import { NOW_MS, policyOf } from '../../fixture/bundle.ts'
import {
  expectKept,
  inForce,
  policies,
  request,
  setUp,
  wide,
  type Scene,
} from '../../fixture/sync-scene.ts'
import type { Release } from '../../fixture/view-repository.ts'

const matchX = '+0 - read /data/x'
const missX = '+ -0 read /data/x'

/** Documents as a server signs them: policies with any self-test. */
function release(self_test: unknown, [policy]: readonly PolicyBody[] = policies): Release {
  return { policies: [{ ...policy, self_test } as never], revision: 8 }
}

async function refusal(scene: Scene, content: Release): Promise<string> {
  const { outcome, error } = await scene.sync(scene.repository.release(content))
  expect({ outcome, code: error?.code }).toEqual({ outcome: 'failed', code: 'self_test_failed' })
  return error?.message ?? ''
}

describe('a policy with a self-test', () => {
  it('is enforced when this evaluator agrees with the server', async () => {
    const { repository, sync, active } = await inForce()
    const [policy] = wide as [PolicyBody]

    const outcome = await sync(
      repository.release(release(formatSelfTest(makeSelfTest(policy)), wide)),
    )

    expect(outcome).toMatchObject({ outcome: 'updated', revision: 8, error: null })
    expect(active.decide({ action: 'read', path: '/etc/x' }).decision).toBe('allow')
  })

  it('is refused by rule and request when it does not, and the last good one stays', async () => {
    const scene = await inForce()
    const policy = policyOf(['allow', 'read', '/etc/*'], ['deny', 'read', '/etc/x'])

    expect(await refusal(scene, release(['+0 -1 read /etc/x'], [policy]))).toBe(
      'policy `pol_1` is read differently by the server: `rule_1` must match, not `rule_2`, ' +
        'but this agent decides deny by `rule_2` for `read /etc/x`; update the agent',
    )

    expectKept(scene)
    expect(scene.active.state()).toBe('rejected')
    expectKept(await setUp(scene.directory, scene.repository))
    const honest = scene.repository.release(release([matchX]))
    expect(await scene.sync(honest)).toMatchObject({ outcome: 'updated', revision: 8, error: null })
  })

  it("allows nothing when the machine's first one is refused", async () => {
    const scene = await setUp()

    await refusal(scene, release([missX]))

    expect(scene.active.state()).toBe('never_loaded')
    expect(scene.active.decide(request)).toMatchObject({ decision: 'deny', reason: 'no_policy' })
    expect(await readdir(scene.directory)).not.toContain('state.json')
  })

  it('is refused when one of several is misread, whichever documents are new', async () => {
    const scene = await inForce()
    const other = { ...policyOf(['deny', 'read', '/data/x']), id: 'pol_2' }
    const misread = { ...other, self_test: [missX] }
    const content = { policies: [...policies, misread as never], revision: 8 }

    expect(await refusal(scene, content)).toContain('policy `pol_2`')
    expect(await refusal(scene, content)).toContain('policy `pol_2`')
    expectKept(scene)
  })

  it('is enforced when it has vectors of a later version', async () => {
    const { repository, sync } = await inForce()

    const later = ['~0 read /data/x', '+0 -0 stat /data/x', '']
    const outcome = await sync(repository.release(release([...later, matchX])))

    expect(outcome).toMatchObject({ outcome: 'updated', revision: 8, error: null })
  })

  it.each<[string, unknown]>([
    ['is not a list', matchX],
    ['is null', null],
    ['has a line that is not a text', [{}]],
    ['has a line without a request', ['+0 -']],
    ['has a line that is too long', [`${matchX}${'x'.repeat(1024)}`]],
    ['has a path that is too long', [`${matchX}${'x'.repeat(510)}`]],
    ['has a host without a port', ['+0 - connect:tcp example.com']],
    ['has an invalid port', ['+0 - connect:tcp 0x1 example.com']],
    ['has a port that is too high', ['+0 - connect:tcp 65536 example.com']],
    ['has an invalid address', ['+0 - connect:tcp 443 example.com 192.0.2.256']],
    ['names a rule that does not exist', ['+1 - read /data/x']],
    ['names the rule `__proto__`', ['+__proto__ - read /data/x']],
    ['names a rule number out of range', ['+1e3 -999999999999999999999 read /data/x']],
    ['is too long', Array.from({ length: 65 }, () => matchX)],
    ['names too many rules', [`+${'0,'.repeat(64)}0 - read /data/x`]],
    ['has a request that is not canonical', ['+0 - read data/../x']],
  ])('is refused, and not taken for one of a later version, when it %s', async (_what, hostile) => {
    const scene = await inForce()

    await refusal(scene, release(hostile))

    expectKept(scene)
  })

  it('denies everything when a start misreads the kept bundle, but keeps the file', async () => {
    const scene = await inForce()
    // Without a home directory the vector is skipped; with one the decision differs.
    const vector = '+0 - read ~/x'
    await scene.sync(scene.repository.release(release([vector])))
    expect(scene.active.revision()).toBe(8)

    const restarted = await setUp(scene.directory, scene.repository, NOW_MS, { home: '/home/ann' })

    expect(restarted.active.state()).toBe('corrupt')
    expect(restarted.active.decide(request)).toMatchObject({ reason: 'no_policy' })
    expect(await refusal(restarted, release([vector]))).toContain('`read ~/x`')
    expect(restarted.active.decide(request)).toMatchObject({ reason: 'no_policy' })

    const mended = await setUp(scene.directory, scene.repository)
    expect(mended.active.decide(request)).toMatchObject({ decision: 'allow', revision: 8 })
  })

  it('is not run again at a start of the same evaluator, but by any other', async () => {
    const scene = await inForce()
    const listed = `${scene.directory}/documents`
    const former = await readdir(listed)
    await scene.sync(scene.repository.release(release(['+0 - read ~/x'])))
    const [name = ''] = (await readdir(listed)).filter((each) => !former.includes(each))
    const documents = [{ id: 'pol_1', sha256: name.replace('.json', ''), length: 1 }]
    // Records a pass of this evaluator, which would fail the test.
    const known = { directory: scene.directory, version: '2', home: '/home/ann' }
    await createSelfTestMemory(known).remember({ documents })
    const start = async (version: string, home: string) =>
      (await setUp(scene.directory, scene.repository, NOW_MS, { version, home })).active.state()

    expect(await start('2', '/home/ann')).toBe('fresh')
    expect(await start('3', '/home/ann')).toBe('corrupt')
    expect(await start('2', '/home/bob')).toBe('corrupt')
    await writeFile(`${scene.directory}/self-test`, '', { mode: 0o600 })
    expect(await start('2', '/home/ann')).toBe('corrupt')
  })

  /** Starts an evaluator with a recorded pass although it would fail: the vector reads `~/x`. */
  async function startMisreading() {
    const scene = await inForce()
    const listed = `${scene.directory}/documents`
    const former = await readdir(listed)
    const content = release(['+0 - read ~/x'])
    await scene.sync(scene.repository.release(content))
    const [name = ''] = (await readdir(listed)).filter((each) => !former.includes(each))
    const documents = [{ id: 'pol_1', sha256: name.replace('.json', ''), length: 1 }]
    const known = { version: '2', home: '/home/ann' }
    await createSelfTestMemory({ ...known, directory: scene.directory }).remember({ documents })
    const start = () => setUp(scene.directory, scene.repository, NOW_MS, known)
    const started = await start()
    expect(started.active.decide(request).decision).toBe('allow')
    return { start, started, content }
  }

  it('denies everything while the bundle in force is misread', async () => {
    const { start, started, content } = await startMisreading()

    expect(await refusal(started, content)).toContain('`read ~/x`')

    expect(started.active.state()).toBe('unsupported')
    expect(started.active.decide(request).reason).toBe('unsupported_policy')
    expect((await start()).active.decide(request).reason).toBe('no_policy')
    const other = started.repository.release(release([matchX]))
    expect(await started.sync(other)).toMatchObject({ error: null })
    expect(started.active.decide(request).decision).toBe('allow')
  })

  it('denies everything when a policy beside it reveals the misreading', async () => {
    const { start, started, content } = await startMisreading()
    const beside = { ...policyOf(['deny', 'read', '/beside']), id: 'pol_2' }

    await refusal(started, { policies: [...(content.policies ?? []), beside], revision: 9 })

    expect(started.active.decide(request).reason).toBe('unsupported_policy')
    expect((await start()).active.decide(request).reason).toBe('no_policy')
  })

  it('denies everything even if that cannot be written to the disk', async () => {
    const { started, content } = await startMisreading()
    await rm(`${started.directory}/state.previous.json`)
    await mkdir(`${started.directory}/state.previous.json/in the way`, { recursive: true })

    await refusal(started, content)

    expect(started.active.decide(request).reason).toBe('unsupported_policy')
  })

  it('is remembered after it came into force, while the documents stay the same', async () => {
    const { directory, repository, sync } = await inForce()
    const kept = () => readFile(`${directory}/self-test`, 'utf8')
    await sync(repository.release(release([matchX])))
    const first = await kept()

    await sync(repository.release(release([matchX])))
    expect(await kept()).toBe(first)

    await sync(repository.release(release([matchX, matchX])))
    expect(await kept()).not.toBe(first)
    const before = await kept()
    await sync(repository.release(release([missX])))
    expect(await kept()).toBe(before)
  })
})
