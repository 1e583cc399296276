import { copyFile, cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NOW_MS } from '../../fixture/bundle.ts'
import { fileOf, grantOf } from '../../fixture/grant.ts'
import {
  expectKept,
  HOUR_MS,
  never,
  policies,
  setUp,
  wide,
  type Scene,
} from '../../fixture/sync-scene.ts'
import { refuseKey } from '../../fixture/policy-server.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { createRepository } from '../../fixture/view-repository.ts'

const COPIES = ['state.json', 'state.previous.json'] as const
const restart = (scene: Scene, nowMs = NOW_MS) => setUp(scene.directory, scene.repository, nowMs)

async function copyOf({ directory }: Scene): Promise<string> {
  const copy = join(await temporaryDirectory(), 'copy')
  await cp(directory, copy, { recursive: true })
  return copy
}

/** A machine that just got a narrower policy, and its directory from before. */
async function narrowed() {
  const scene = await setUp()
  const former = scene.repository.release({ policies: wide, revision: 6 })
  expect(await scene.sync(former)).toMatchObject({ revision: 6, error: null })
  const directory = await copyOf(scene)
  expect(await scene.sync(scene.repository.release({ policies }))).toMatchObject({ revision: 7 })
  await cp(join(directory, 'documents'), join(scene.directory, 'documents'), { recursive: true })
  return { scene, former, directory }
}

describe.each(COPIES)('of two copies of the state, %s', (name) => {
  it.each([
    ['missing', (file: string) => rm(file)],
    ['damaged', (file: string) => writeFile(file, 'garbage', { mode: 0o600 })],
  ])('does not bring older facts back when it is %s right after a change', async (_what, spoil) => {
    const { scene, former } = await narrowed()
    await spoil(join(scene.directory, name))

    const restarted = await restart(scene)
    expectKept(restarted)
    expect(await restarted.sync(former)).toMatchObject({ error: { code: 'older_version' } })
    expectKept(restarted)
  })

  it('does not bring older facts back when replaced by an older copy', async () => {
    const { scene, former, directory } = await narrowed()
    await copyFile(join(directory, 'state.json'), join(scene.directory, name))

    const restarted = await restart(scene)
    expectKept(restarted)
    expect(await restarted.sync(former)).toMatchObject({ error: { code: 'older_version' } })
  })

  it('does not bring older facts back when replaced by the copy of another machine', async () => {
    const { scene, former } = await narrowed()
    const other = createRepository()
    const rival = await setUp(undefined, other)
    expect(await rival.sync(other.release({ policies: wide }))).toMatchObject({ error: null })
    await copyFile(join(rival.directory, 'state.json'), join(scene.directory, name))

    const restarted = await restart(scene)
    expectKept(restarted)
    expect(await restarted.sync(former)).toMatchObject({ error: { code: 'older_version' } })
  })

  it('does not end a revocation when replaced by a copy from before it', async () => {
    const { scene } = await narrowed()
    const before = await copyOf(scene)
    scene.server.answer = refuseKey
    scene.server.answerToken = refuseKey
    await scene.synchronizer.run(never)
    await scene.synchronizer.run(never)
    expect(scene.active.state()).toBe('revoked')
    await copyFile(join(before, name), join(scene.directory, name))

    expect((await restart(scene)).active.state()).toBe('revoked')
  })

  it('does not make a grant valid again when replaced by an older copy', async () => {
    const { scene } = await narrowed()
    const nowMs = NOW_MS + 8 * 24 * HOUR_MS
    const expired = await restart(scene, nowMs)
    const grant = fileOf(grantOf(scene.repository.keys.targets, { atMs: nowMs }))
    const before = await copyOf(expired)
    expect(await expired.breakGlass.begin(grant)).toBeNull()
    expect(await expired.breakGlass.end()).toBeNull()
    await copyFile(join(before, name), join(expired.directory, name))

    const again = await restart(expired, nowMs)
    expect(await again.breakGlass.begin(grant)).toMatchObject({ code: 'already_used' })
  })
})
