import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readGitSettings } from '../../../packages/cli/src/sandbox/git-settings.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'

/** The obeyed paths in `cwd`; each setting is its origin, key and value. */
async function obeyedIn(
  cwd: string,
  ...settings: readonly (readonly [origin: string, key: string, value: string])[]
): Promise<readonly string[]> {
  const output = settings.map(([origin, key, value]) => `${origin}\0${key}\n${value}\0`).join('')
  const captureProgram = async () => ({ kind: 'ended', code: 0, output }) as const
  return (await readGitSettings({ env: {}, home: '/home/dev', cwd, captureProgram })).obeyed
}

describe('the paths that git obeys', () => {
  it('are hooks from the top of the working tree, and settings from their file', async () => {
    const top = await temporaryDirectory()
    const cwd = join(top, 'a/b')
    mkdirSync(cwd, { recursive: true })
    writeFileSync(join(top, '.git'), 'gitdir: /elsewhere\n')

    const obeyed = await obeyedIn(
      cwd,
      ['file:.git/config', 'core.hookspath', '.githooks/'],
      ['file:.git/config', 'include.path', '../.gitconfig'],
      ['file:/home/dev/.gitconfig', 'includeif.onbranch:a.b.path', 'work/conf'],
      ['command line:', 'core.hookspath', '/srv/hooks'],
    )

    // A bare repository has no working tree, so the working directory counts too.
    expect(obeyed).toEqual([
      join(top, '.githooks'),
      join(cwd, '.githooks'),
      join(top, '.gitconfig'),
      join(cwd, '.gitconfig'),
      '/home/dev/work/conf',
      '/srv/hooks',
    ])
  })

  it('follow the home directory and the mark of a path that may be missing', async () => {
    const obeyed = await obeyedIn(
      '/',
      ['file:/etc/gitconfig', 'core.hookspath', '~/hooks'],
      ['file:/etc/gitconfig', 'include.path', ':(optional)~/more'],
      ['file:/etc/gitconfig', 'core.hookspath', ''],
    )

    expect(obeyed).toEqual(['/home/dev/hooks', '/home/dev/more'])
  })

  it('are none without such settings', async () => {
    expect(await obeyedIn('/', ['file:/etc/gitconfig', 'user.name', '/a'])).toEqual([])
  })
})
