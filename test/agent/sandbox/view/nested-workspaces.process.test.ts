import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { guardedView } from '../../fixture/running-view.ts'
import { putFile, viewScene } from '../../fixture/view-scene.ts'

// The guard makes the mounts beyond the first hundred.
it.each([0, 120])(
  'directories above an inner workspace keep their names, beside %i masks',
  async (count) => {
    const scene = await viewScene()
    putFile(scene, 'x/y/in/.envrc', 'x/y/in/d/tok', 'x/y/in/code')
    for (let index = 0; index < count; index += 1) putFile(scene, `a/${index}/.envrc`)
    scene.rule(['deny', 'read', `${scene.ws}/**/tok`])
    const inner = join(scene.ws, 'x/y/in')
    const view = await guardedView(
      scene,
      await scene.plan([
        { path: scene.ws, access: 'rw' },
        { path: inner, access: 'rw' },
      ]),
    )

    expect(await view.run('mv x z; mv x/y x/z; mv x/y/in x/y/z')).toMatch(/(?:busy[^]*){3}/)
    expect(await view.run('cat x/y/in/d/tok')).toBe('')
    expect(await view.run('echo EVIL > x/y/in/.envrc')).toMatch(/Read-only/)
    expect(await view.run('echo new > x/y/in/code; cat x/y/in/code')).toBe('new')
    expect(await view.finish()).toBeNull()
    expect(readFileSync(join(inner, '.envrc'), 'utf8')).toBe('content of x/y/in/.envrc\n')
    expect([view.problems, view.aside]).toEqual([[], []])
  },
)
