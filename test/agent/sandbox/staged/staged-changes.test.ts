import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
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

  it('of 32 sandboxes are the most that wait', async () => {
    const { keep, store } = await scene()
    for (let count = 0; count < 31; count += 1) await keep(`s${count}`, [])
    await (await store.begin('next', 1)).end()
    await keep('last', [])
    await expect(store.begin('more', 1)).rejects.toThrow('apply or discard some')
  })

  it('are no more refused once policy grants them', async () => {
    const { changes, deny, keep, store } = await scene()
    deny('/**/*.pem')
    for (let count = 0; count < 32; count += 1) await keep(`s${count}`, ['x.pem'])
    await changes.show({ id: 's0' })
    deny()
    await changes.show({ id: 's0' })

    await expect(store.begin('next', 1)).rejects.toThrow('apply or discard some')
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
