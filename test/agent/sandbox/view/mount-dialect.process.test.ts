import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { guardedView } from '../../fixture/running-view.ts'
import { viewScene } from '../../fixture/view-scene.ts'

describe.each([
  ['Perl', false],
  ['the shell', true],
])('masks by %s', (_, isShell) => {
  it('hide and lock names with quotes, spaces and line breaks', async () => {
    const scene = await viewScene()
    const names = ["a'b", 'c d', 'e\nf', '$(g)', '-h', '\u00e9']
    scene.rule(['deny', 'read', `${scene.ws}/hidden/*`], ['deny', 'write', `${scene.ws}/locked/*`])
    const view = await guardedView(scene, await scene.plan(), { isShell })
    for (const directory of ['hidden', 'locked']) {
      mkdirSync(join(scene.ws, directory))
      for (const name of names) writeFileSync(join(scene.ws, directory, name), `${name}\n`)
    }

    await expect.poll(() => view.run('cat ./hidden/*')).toBe('')
    await expect
      .poll(() => view.run('for f in locked/*; do test -w "$f" && echo open; done'))
      .toBe('')
    expect(await view.run('cat locked/c\\ d && echo x > locked/c\\ d')).toMatch(/c d[^]*Read-only/)
    expect(view.problems).toEqual([])
  })
})
