import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { planCallerLinks } from '../../../../agent/src/sandbox/view/caller-links.ts'
import { disk, tree } from './walk-scene.ts'

type Shown = Parameters<typeof planCallerLinks>[1]

async function scene() {
  const root = await tree('disk/app/sub/file')
  symlinkSync(join(root, 'disk/app'), join(root, 'link'))
  symlinkSync('disk', join(root, 'way'))
  const app = join(root, 'disk/app')
  const plan = (paths: readonly string[], shown: Shown = []): [string, string][] =>
    planCallerLinks(
      paths.map((path) => ({
        path: path.startsWith('/') ? path : `${root}/${path}`,
        access: 'rw',
      })),
      [{ kind: 'bind', target: app }, ...shown],
      disk,
    ).map(({ target, to }) => [target.slice(root.length), to.slice(root.length)])
  return { root, app, plan }
}

describe('the links of the caller', () => {
  it('lead to the real path of a workspace', async () => {
    const { plan } = await scene()

    for (const path of ['link', 'link/', './link/.'])
      expect(plan([path])).toEqual([['/link', '/disk/app']])
    expect(plan(['way/app'])).toEqual([['/way/app', '/disk/app']])
    expect(plan(['link', 'link/sub', 'way/app'])).toEqual([
      ['/link', '/disk/app'],
      ['/way/app', '/disk/app'],
    ])
  })

  it('are not made for a real path, nor for a text that means another directory', async () => {
    const { plan, root } = await scene()
    mkdirSync(join(root, 'app'))

    expect(plan(['disk/app', 'disk/../disk/app', 'missing'])).toEqual([])
    expect(plan(['link/../app'])).toEqual([])
  })

  it('are not made in, at or above what the view shows', async () => {
    const { plan, root } = await scene()
    const at = (kind: Shown[number]['kind'], path = ''): Shown => [{ kind, target: root + path }]

    for (const shown of [at('bind'), at('bind', '/link'), at('bind', '/link/sub'), at('symlink')])
      expect(plan(['link'], shown)).toEqual([])
    for (const shown of [at('tmpfs'), at('dir'), at('bind', '/other')])
      expect(plan(['link'], shown)).toEqual([['/link', '/disk/app']])
  })
})
