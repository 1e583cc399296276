import { MAX_STAGED_CHANGES } from '@palisade/protocol'
import { runSteps, type Steps } from '@palisade/policy-core'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadLayerAttributes } from '../../../../agent/src/sandbox/staged/layer-attributes.ts'
import { review, type Review } from '../../../../agent/src/sandbox/staged/review.ts'
import { openJournal } from '../../../../agent/src/sandbox/staged/session-files.ts'
import {
  layersOf,
  type StagedSession,
} from '../../../../agent/src/sandbox/staged/staged-session.ts'
import { TEMPORARY, scene } from './staged-scene.ts'

const DAY_MS = 24 * 3_600_000

describe('staged changes', () => {
  it('of refused changes alone give way to a new sandbox, the oldest first', async () => {
    const { changes, deny, keep, store, clock } = await scene()
    for (let count = 0; count < 32; count += 1) {
      await keep(`s${count}`, [count < 2 ? 'x.pem' : 'a'])
      clock.nowMs += 1
    }
    deny('/**/*.pem')
    await expect(store.begin('early', 1)).rejects.toThrow('apply or discard some')
    expect(await changes.show({ id: 's1' })).toMatchObject({ counts: { refused: 1 } })
    expect(await changes.apply({ id: 's0' })).toMatchObject({ is_kept: true })
    expect(await changes.show({ id: 's2' })).toMatchObject({ counts: { allowed: 1 } })

    await (await store.begin('next', 1)).end()
    const left = (await changes.list()).sessions.map(({ id }) => id)

    expect(left).toHaveLength(31)
    expect(left).not.toContain('s0')
    await keep('more', ['a'])
    await (await store.begin('last', 1)).end()
    await keep('other', ['a'])
    await expect(store.begin('end', 1)).rejects.toThrow('apply or discard some')
  })

  it('that policy grants are listed beside any number of others, and the reverse', async () => {
    const { changes, keep, project, root } = await scene()
    // Policy grants a plain file, and never one with a setuid bit.
    for (const [id, many, one] of [
      ['s1', 0o644, 0o4755],
      ['s2', 0o4755, 0o644],
    ] as const) {
      await keep(id, [])
      const { upper } = layersOf(join(root, id), 0)
      for (let each = 0; each <= MAX_STAGED_CHANGES; each += 1) {
        writeFileSync(join(upper, String(each)), '', { mode: each === 9_999 ? one : many })
      }
      const shown = await changes.show({ id })
      expect(shown.changes).toHaveLength(MAX_STAGED_CHANGES)
      expect(shown.changes.map(({ path }) => path)).toContain(join(project, '9999'))
    }
  })

  it('go on after an agent that was killed while it copied out', async () => {
    const { changes, deps, keep, project, root, store } = await scene()
    const files = ['a', 'b', 'c', 'd']
    const session = await keep('s1', files)
    const directory = join(root, 's1')
    const attributes = await loadLayerAttributes()
    const steps = review(directory, session, { ...deps, attributes }, openJournal(directory))
    // A killed process does not run its clean-up.
    while (!readdirSync(project).some((name) => name === TEMPORARY) || !existsSync(`${project}/b`))
      if (steps.next().done === true) throw new Error('the copy-out has ended')
    expect(readdirSync(project).length).toBeLessThan(files.length)

    await store.recover()
    expect(readdirSync(project)).not.toContain(TEMPORARY)
    expect(await changes.list()).toMatchObject({ sessions: [{ id: 's1', state: 'kept' }] })
    const applied = await changes.apply({ id: 's1' })
    expect(applied.counts).toMatchObject({ conflict: 0, failed: 0, refused: 0 })
    expect(readdirSync(project)).toEqual(files)
    for (const name of files) expect(readFileSync(join(project, name)).length).toBe(1_000_000)
    expect(readdirSync(root)).toEqual([])
  })

  it('go on after an agent that was killed in a new directory', async () => {
    const { deps, keep, project, root, store } = await scene()
    const session = await keep('s1', [])
    const directory = join(root, 's1')
    const { upper } = layersOf(directory, 0)
    mkdirSync(join(upper, 'new/below'), { recursive: true })
    writeFileSync(join(upper, 'new/below/file'), 'x'.repeat(1_000_000))
    chmodSync(join(upper, 'new/below'), 0o500)
    const isOpaque = (path: string): boolean => path === join(upper, 'new')
    const attributes = { ...(await loadLayerAttributes()), isOpaque }
    const start = (from: StagedSession): Steps<Review> =>
      review(directory, from, { ...deps, attributes }, openJournal(directory))
    const steps = start(session)
    while (!existsSync(join(project, 'new/below', TEMPORARY)))
      if (steps.next().done === true) throw new Error('the copy-out has ended')

    await store.recover()
    // The agent that was killed has made the directories after the start of the sandbox.
    const { counts } = runSteps(start({ ...session, started_ms: Date.now() - 60_000 }))
    expect(counts).toMatchObject({ applied: 2, conflict: 0, failed: 0, refused: 0 })
    expect(readdirSync(join(project, 'new/below'))).toEqual(['file'])
    expect(statSync(join(project, 'new')).mode).toBe(statSync(project).mode)
    expect(statSync(join(project, 'new/below')).mode & 0o777).toBe(0o500)
  })

  it('are discarded after two weeks', async () => {
    const { changes, clock, keep, root } = await scene()
    await keep('s1', ['a'])
    clock.nowMs += 13 * DAY_MS
    expect((await changes.list()).sessions).toHaveLength(1)
    clock.nowMs += 2 * DAY_MS
    expect((await changes.list()).sessions).toEqual([])
    expect(readdirSync(root)).toEqual([])
  })

  it('are not applied any more once their removal has begun', async () => {
    const { changes, keep, root } = await scene()
    await keep('s1', [])
    const { upper } = layersOf(join(root, 's1'), 0)
    const count = 5_000
    for (let each = 0; each < count; each += 1) writeFileSync(join(upper, String(each)), '')
    const discarded = changes.discard({ id: 's1' })
    while (existsSync(upper) && readdirSync(upper).length === count)
      await new Promise((resolve) => void setImmediate(resolve))
    // A killed agent finds this on disk.
    expect(existsSync(join(root, 's1/session.json'))).toBe(false)
    expect(await discarded).toMatchObject({ outcome: 'discarded' })
    expect(readdirSync(root)).toEqual([])
  })

  it('with a record that was cut are removed at the next start', async () => {
    const { keep, root, store } = await scene()
    await keep('s1', ['a'])
    writeFileSync(join(root, 's1/session.json'), '{"version":1,')
    await store.recover()
    expect(readdirSync(root)).toEqual([])
  })
})
