import { execFileSync, type StdioOptions } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { submodulesOf } from '../../../../agent/src/sandbox/aside/gitlinks.ts'
import { guardedView } from '../../fixture/running-view.ts'
import { exists, putFile, USERS, viewScene, type ViewScene } from '../../fixture/view-scene.ts'

const STDIO: StdioOptions = ['ignore', 'pipe', 'ignore']

/** Git outside, as the user of the workspace. */
function git(scene: ViewScene, ...words: readonly string[]): string {
  const env = {
    PATH: process.env['PATH'],
    HOME: scene.home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b.c',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b.c',
  }
  const identity = scene.user ?? {}
  return execFileSync('git', words, {
    cwd: scene.ws,
    env,
    encoding: 'utf8',
    stdio: STDIO,
    ...identity,
  })
}

/** Looks around as an editor does. The directory need not be a repository. */
function look(scene: ViewScene, directory: string): void {
  for (const words of [['status'], ['-C', directory, 'status'], ['-C', directory, 'log']])
    try {
      git(scene, ...words)
    } catch {
      // Git says what is wrong.
    }
}

/** The repository of the person, with one commit. */
async function repositoryScene(user: ViewScene['user']): Promise<ViewScene> {
  const scene = await viewScene(user)
  git(scene, 'init', '--quiet')
  git(scene, 'commit', '--quiet', '--allow-empty', '-m', 'first')
  return scene
}

const WITNESS = 'git -C $r config core.fsmonitor "touch $PWD/ran; false"'
const COMMIT = '-c user.name=a -c user.email=a@b.c commit --quiet --allow-empty -m x'

/** Each makes settings that git obeys in a directory of the workspace. */
const PLANTS = [
  ['nested', 'n', `r=n; git init --quiet n; ${WITNESS}`],
  ['bare', 'b.git', `r=b.git; git init --quiet --bare b.git; ${WITNESS}`],
  [
    'of a file .git',
    'm',
    `r=n; git init --quiet n; ${WITNESS}; mkdir m; echo "gitdir: ../n/.git" > m/.git`,
  ],
  ['of a link .git', 'm', `r=n; git init --quiet n; ${WITNESS}; mkdir m; ln -s ../n/.git m/.git`],
  [
    'hidden in .git',
    'm',
    `r=.git/x; git init --quiet --bare .git/x; git -C $r config core.bare false; ${WITNESS}; ` +
      'mkdir m; echo "gitdir: ../.git/x" > m/.git',
  ],
  ['moved into place', 'p/q', `r=n; git init --quiet n; ${WITNESS}; mkdir p; mv n p/q`],
  [
    'of a foreign working tree',
    'm',
    `r=e; git init --quiet --bare e; ${WITNESS}; mkdir -p m .git/worktrees/w; cp .git/HEAD ` +
      '.git/worktrees/w/HEAD; echo $PWD/e > .git/worktrees/w/commondir; ' +
      'echo $PWD/m/.git > .git/worktrees/w/gitdir; echo "gitdir: $PWD/.git/worktrees/w" > m/.git',
  ],
] as const

describe.each(USERS)('a repository that the command makes, %s', (_, user) => {
  it.each(PLANTS)('case 92: has no settings at the end: %s', async (_name, directory, line) => {
    const scene = await repositoryScene(user)
    const view = await guardedView(scene, await scene.plan())

    const output = await view.run(`export HOME=/tmp; ${line}`)
    // Before the end git obeys them. Only a bare one has no command that runs the program.
    look(scene, directory)
    expect(exists(join(scene.ws, 'ran')), output).toBe(directory !== 'b.git')
    rmSync(join(scene.ws, 'ran'), { force: true })
    expect(await view.finish()).toBeNull()
    expect(view.aside.length, output).toBeGreaterThan(0)
    look(scene, directory)
    expect(exists(join(scene.ws, 'ran'))).toBe(false)
  })

  it('can be cloned and used inside, and its settings can be taken back', async () => {
    const scene = await repositoryScene(user)
    const view = await guardedView(scene, await scene.plan())

    const cloned =
      `git clone --quiet . c && git -C c config a.b 1 && git -C c ${COMMIT} && ` +
      'cat c/.git/config'
    expect(await view.run(`export HOME=/tmp; ${cloned}`)).toContain('b = 1')
    expect(await view.finish()).toBeNull()
    const config = join(scene.ws, 'c/.git/config')
    expect(view.aside).toEqual([
      { path: config, aside: `${config}.refused-by-palisade`, cause: 'repository' },
    ])
    expect(git(scene, '-C', 'c', 'log', '--format=%s')).toBe('x\nfirst\n')
  })

  it('keeps its settings where a rule spells .git, and as a working tree', async () => {
    const scene = await repositoryScene(user)
    scene.rule(['allow', 'write', `${scene.ws}/n/.git/**`])
    const view = await guardedView(scene, await scene.plan())

    await view.run('export HOME=/tmp; git init --quiet n; git worktree add --quiet t')
    expect(await view.finish()).toBeNull()
    expect(view.aside).toEqual([])
    expect(exists(join(scene.ws, 'n/.git/config'))).toBe(true)
    expect(git(scene, '-C', 't', 'status', '--short')).toBe('')
  })

  it('case 92: gets no settings of a working tree that were missing', async () => {
    const scene = await repositoryScene(user)
    git(scene, 'config', 'extensions.worktreeConfig', 'true')
    const view = await guardedView(scene, await scene.plan())

    expect(await view.run('echo x > .git/config.worktree')).toMatch(/Read-only/)
    await view.run(
      'echo x > d; mv -f d .git/config.worktree; export HOME=/tmp; git worktree add --quiet t; ' +
        'git -C t config --worktree core.fsmonitor "touch $PWD/ran"',
    )
    expect(await view.finish()).toBeNull()
    git(scene, 'status')
    git(scene, '-C', 't', 'status')
    expect(exists(join(scene.ws, 'ran'))).toBe(false)
    expect(view.aside).toMatchObject([{ path: join(scene.ws, '.git/worktrees/t/config.worktree') }])
  })

  it.each([
    ['after the repository', `git init --quiet n; git -C n ${COMMIT}; ${WITNESS}; git add n`],
    [
      'before the repository',
      'git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),n; ' +
        `git init --quiet n; ${WITNESS}`,
    ],
  ])('case 92: ends the command that makes it a submodule: %s', async (_name, line) => {
    const scene = await repositoryScene(user)
    const view = await guardedView(scene, await scene.plan())

    await view.run(`export HOME=/tmp; r=n; ${line}; sleep 60`).catch(() => '')
    await expect.poll(() => view.hasEnded()).toBe(true)
    expect(view.problems).toEqual([
      expect.stringMatching(
        /^the index of your repository names `.*\/n\/\.git`, .*refused-by-palis/,
      ),
    ])
    look(scene, 'n')
    expect(exists(join(scene.ws, 'ran'))).toBe(false)
  })
})

it.each(['-c index.version=2', '-c index.version=4', '-c core.splitIndex=true', 'sha256'])(
  'the submodules of an index are read: %s',
  async (how) => {
    const scene = await viewScene()
    const options = how.startsWith('-c') ? how.split(' ') : []
    git(scene, 'init', '--quiet', ...(options.length === 0 ? ['--object-format=sha256'] : []))
    putFile(scene, 'a/b c/file', 'd', 'e/f')
    git(scene, ...options, 'add', '.')
    git(scene, 'commit', '--quiet', '-m', 'first')
    const head = git(scene, 'rev-parse', 'HEAD').trim()
    putFile(scene, 'e/new')
    git(scene, ...options, 'add', '--intent-to-add', 'e/new')
    for (const path of ['a/sub', 'a/subs/x', 'z'])
      git(scene, ...options, 'update-index', '--add', '--cacheinfo', `160000,${head},${path}`)

    const found = submodulesOf(join(scene.ws, '.git'), scene.disk)
    expect([...new Set(found)].toSorted()).toEqual(
      ['a/sub', 'a/subs/x', 'z'].map((path) => join(scene.ws, path)),
    )
  },
)
