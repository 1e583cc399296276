import { MAX_STAGED_CHANGES } from '@palisade/protocol'
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { layersOf } from '../../../../agent/src/sandbox/staged/staged-session.ts'
import { scene } from './staged-scene.ts'

describe('staged changes', () => {
  it('copies nothing out without a policy in force', async () => {
    const { changes, keep, project } = await scene(false)
    await keep('s1', ['a'])
    expect(await changes.apply({ id: 's1' })).toMatchObject({
      outcome: 'failed',
      error: { code: 'policy_not_in_force' },
    })
    expect(readdirSync(project)).toEqual([])
    expect((await changes.list()).sessions).toHaveLength(1)
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
        writeFileSync(join(upper, String(each)), '')
        chmodSync(join(upper, String(each)), each === 9_999 ? one : many)
      }
      const shown = await changes.show({ id })
      expect(shown.changes).toHaveLength(MAX_STAGED_CHANGES)
      expect(shown.changes.map(({ path }) => path)).toContain(join(project, '9999'))
    }
  })

  it('of 32 sandboxes are the most that wait', async () => {
    const { keep, store } = await scene()
    for (let count = 0; count < 31; count += 1) await keep(`s${count}`, [])
    await (await store.begin('next', 1)).end()
    await keep('last', [])
    await expect(store.begin('more', 1)).rejects.toThrow('apply or discard some')
  })

  it.each([
    [{}, 'invalid_request'],
    [{ id: '../s1' }, 'invalid_request'],
    [{ id: 's1', more: 1 }, 'invalid_request'],
    [null, 'invalid_request'],
    [{ id: 'other' }, 'not_found'],
  ])('answer %j with %s', async (request, code) => {
    const { changes, keep } = await scene()
    await keep('s1', ['a'])
    for (const task of [changes.show, changes.apply, changes.discard])
      expect(await task(request)).toMatchObject({ outcome: 'failed', error: { code } })
    expect((await changes.list()).sessions).toHaveLength(1)
  })
})
