import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { guardedView } from '../../fixture/running-view.ts'
import { USERS, viewScene } from '../../fixture/view-scene.ts'

describe.each(USERS)('a missing denied path, %s', (_, user) => {
  it('case 83: cannot be created, nor can its parents', async () => {
    const made = await viewScene(user)
    const { rule, ws } = made
    rule(
      ['deny', 'read', `${ws}/.env`, `${ws}/deep/er/key`, `${ws}/keys/**`],
      ['deny', 'write', `${ws}/locked`],
    )
    const plan = await made.plan()
    const view = await guardedView(made, plan)

    for (const line of ['echo x > .env', 'mkdir deep/er', 'echo x > keys/a', 'echo x > locked'])
      expect(await view.run(line), line).toMatch(/Read-only file system/)
    for (const line of ['rm -f .env', 'mv deep x', 'rmdir keys', 'mv -T /tmp deep'])
      expect(await view.run(line), line).toMatch(/busy|exists|cross-device|not empty/i)
    await plan.release()
    expect(readdirSync(ws)).toEqual([])
  })
})
