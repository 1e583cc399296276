import { compilePolicy, pathDenies } from '@palisade/policy-core'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { policyOf } from '../../fixture/bundle.ts'
import { guardedView } from '../../fixture/running-view.ts'
import { putFile, viewScene } from '../../fixture/view-scene.ts'

describe.each([
  ['Perl', false],
  ['the shell', true],
])('masks by %s', (_, isShell) => {
  it('hide and lock names with quotes, spaces and line breaks', async () => {
    const scene = await viewScene()
    const names = ["a'b", 'c d', 'e\nf', '$(g)', '-h', '\u00e9']
    for (const name of names) putFile(scene, join('hidden', name), join('locked', name))
    const view = await guardedView(scene, await scene.plan(), { isShell })
    const { guard, run, problems } = view
    const rules = policyOf(
      ['deny', 'read', `${scene.ws}/hidden/*`],
      ['deny', 'write', `${scene.ws}/locked/*`],
    )
    const denies = pathDenies(compilePolicy({ policies: [rules] }))

    await guard.tighten({ denies, isGranted: () => true })

    expect(await run('cat ./hidden/*')).toBe('')
    expect(await run('for f in locked/*; do test -w "$f" && echo open; done')).toBe('')
    expect(await run('cat locked/c\\ d && echo x > locked/c\\ d')).toMatch(/c d[^]*Read-only/)
    expect(problems).toEqual([])
  })
})
