import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import { guardedPaths } from '../../../../agent/src/sandbox/view/guarded-names.ts'
import { spellingsOf } from '../../../../agent/src/sandbox/view/obeyed-paths.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

describe('the paths that git obeys', () => {
  it('have the spelling of the settings and the real one, also of missing names', async () => {
    const disk = createViewDisk()
    const top = disk.realPath(await temporaryDirectory()).toString('utf8')
    mkdirSync(join(top, 'tools/hooks'), { recursive: true })
    symlinkSync('tools', join(top, 'link'))
    const paths = [`${top}/link/hooks/`, `${top}/link/x/../new/conf`, '/']

    expect(spellingsOf(paths, disk)).toEqual([
      `${top}/link/hooks`,
      `${top}/tools/hooks`,
      `${top}/link/new/conf`,
      `${top}/tools/new/conf`,
      '/',
    ])
  })

  it('are guarded themselves, whatever characters they have', () => {
    const paths = ['/ws/.githooks', '/ws/a*b', '/ws/**c?[d]\\', '/ws/é', '/']
    const guarded = guardedPaths(paths)

    expect(paths.map((path) => guarded.at(path).denies.write)).not.toContain(false)
    expect(guarded.at('/ws/.githooks2').denies.write).toBe(false)
    expect(guarded.at('/ws/n/.githooks').denies.write).toBe(false)
  })
})
