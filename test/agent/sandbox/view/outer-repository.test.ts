import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import { warnOfOuterRepository } from '../../../../agent/src/sandbox/view/outer-repository.ts'
import type { Workspace } from '../../../../agent/src/sandbox/view/workspace.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

let root: string
beforeEach(async () => {
  root = await temporaryDirectory()
})

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

/** The warnings in a directory of the first workspace. */
function warnings(directory: string, ...shown: readonly string[]): readonly string[] {
  const areas = shown.map((path) => ({ path: join(root, path), access: 'rw' as const }))
  const workspaces = areas.map((area): Workspace => ({
    ...area,
    device: 1,
    inode: 1,
    aliases: [],
    mounted: new Map(),
  }))
  return warnOfOuterRepository(
    join(root, directory),
    { workspaces, areas, restricted: [] },
    createViewDisk(),
  )
}

const advice = (path: string, access: string): string =>
  `add \`--workspace ${join(root, path)}:${access}\` beside \`--workspace .\``

describe('a directory whose repository is elsewhere', () => {
  it('names the main working tree of a further one', () => {
    write('main/.git/HEAD', 'ref: refs/heads/main\n')
    write('main/.git/worktrees/wt/commondir', '../..\n')
    write('wt/.git', `gitdir: ${root}/main/.git/worktrees/wt\n`)
    mkdirSync(join(root, 'wt/src'))

    for (const directory of ['wt', 'wt/src'])
      expect(warnings(directory, 'wt')).toEqual([
        `git will not work here: \`${root}/wt/.git\` leads to \`${root}/main/.git\`, which the ` +
          `sandbox does not show; ${advice('main', 'rw')}`,
      ])
    expect(warnings('wt', 'wt', 'main')).toEqual([])
  })

  it('names the bare repository of a working tree', () => {
    write('bare.git/worktrees/wt/commondir', '../..\n')
    write('wt/.git', `gitdir: ${root}/bare.git/worktrees/wt\n`)

    expect(warnings('wt', 'wt')[0]).toContain(advice('bare.git', 'rw'))
    expect(warnings('wt', 'wt', 'bare.git')).toEqual([])
  })

  it('names the repository above a submodule', () => {
    write('main/.git/modules/sub/HEAD', 'ref: refs/heads/main\n')
    write('main/sub/.git', 'gitdir: ../.git/modules/sub\n')

    expect(warnings('main/sub', 'main/sub')[0]).toContain(advice('main', 'rw'))
    expect(warnings('main/sub', 'main')).toEqual([])
  })

  it('names a separate directory of the repository', () => {
    write('repositories/project/HEAD', 'ref: refs/heads/main\n')
    write('project/.git', `gitdir: ${root}/repositories/project\n`)

    expect(warnings('project', 'project')[0]).toContain(advice('repositories/project', 'rw'))
    expect(warnings('project', 'project', 'repositories')).toEqual([])
  })

  it('names the target of a link', () => {
    write('store/project.git/HEAD', 'ref: refs/heads/main\n')
    mkdirSync(join(root, 'project'))
    symlinkSync('../store/project.git', join(root, 'project/.git'))

    expect(warnings('project', 'project')[0]).toContain(advice('store/project.git', 'rw'))
    expect(warnings('project', 'project', 'store')).toEqual([])
  })

  it.each([
    ['other/.git/objects', 'other'],
    ['cache/other.git/objects', 'cache/other.git'],
  ])('names the repository whose objects are borrowed, %s', (objects, outer) => {
    write(`${objects}/info/packs`, '')
    write('project/.git/HEAD', 'ref: refs/heads/main\n')
    write('project/.git/objects/info/alternates', `# borrowed\n${root}/${objects}\n`)

    expect(warnings('project', 'project')[0]).toContain(advice(outer, 'ro'))
    expect(warnings('project', 'project', outer)).toEqual([])
  })
})

describe('no warning', () => {
  it('is given for a repository in the workspace, nor without one', () => {
    write('project/.git/HEAD', 'ref: refs/heads/main\n')
    write('other/file', '')

    expect(warnings('project', 'project')).toEqual([])
    expect(warnings('other', 'other')).toEqual([])
    expect(warnings('project', 'other')).toEqual([])
  })

  it.each(['', 'gitdir: ', 'gitdir\n', '\0'.repeat(10_000)])(
    'is given for a file that names no repository, %j',
    (text) => {
      write('project/.git', text)

      expect(warnings('project', 'project')).toEqual([])
    },
  )

  it('has a control character or a line break of the file', () => {
    write('project/.git', `gitdir: /nowhere\u001b[2J\u202e\n\nmore`)

    expect(warnings('project', 'project')[0]).toContain('`/nowhere\\u{1b}[2J\\u{202e}`')
  })
})
