import { chownSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { guardedView } from '../../fixture/running-view.ts'
import { exists, USERS } from '../../fixture/view-scene.ts'
import { git, look, repositoryScene } from './repository-scene.ts'

const WITNESS = 'git -C $r config core.fsmonitor "touch $PWD/ran; false"'
const COMMIT = '-c user.name=a -c user.email=a@b.c commit --quiet --allow-empty -m x'

const HIDDEN =
  'r=.git/x; git init --quiet --bare .git/x; git -C $r config core.bare false; ' + WITNESS

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
  ['hidden in .git', 'm', `${HIDDEN}; mkdir m; echo "gitdir: ../.git/x" > m/.git`],
  ['moved into place', 'p/q', `r=n; git init --quiet n; ${WITNESS}; mkdir p; mv n p/q`],
  [
    'of a foreign working tree',
    'm',
    `r=e; git init --quiet --bare e; ${WITNESS}; mkdir -p m .git/worktrees/w; cp .git/HEAD ` +
      '.git/worktrees/w/HEAD; echo $PWD/e > .git/worktrees/w/commondir; ' +
      'echo $PWD/m/.git > .git/worktrees/w/gitdir; echo "gitdir: $PWD/.git/worktrees/w" > m/.git',
  ],
  [
    'behind a link on the way of a file .git',
    'm',
    `${HIDDEN}; mkdir .git/x/b m; ln -s x/b .git/l; echo "gitdir: ../.git/l/.." > m/.git`,
  ],
  [
    'behind a name with a blank',
    'm',
    `${HIDDEN}; mkdir .git/p m; mv .git/x ".git/p/.. "; echo "gitdir: ../.git/p/.. " > m/.git`,
  ],
  [
    'behind a name that is not UTF-8',
    'm',
    `${HIDDEN}; mkdir m; n=$(printf "\\377"); mv .git/x .git/$n; ln -s . .git/\ufffd; ` +
      'echo "gitdir: ../.git/$n" > m/.git',
  ],
  [
    'behind a link on the way of commondir',
    'm',
    `${HIDDEN}; mkdir -p .git/x/b m .git/worktrees/w; ln -s x/b .git/l; ` +
      'cp .git/HEAD .git/worktrees/w; echo "../../l/.." > .git/worktrees/w/commondir; ' +
      'echo "gitdir: ../.git/worktrees/w" > m/.git',
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

  it('has no settings in place of a repository that a program outside moved', async () => {
    const scene = await repositoryScene(user)
    git(scene, 'init', '--quiet', 'sub')
    git(scene, 'init', '--quiet', '--bare', 'b.git')
    const view = await guardedView(scene, await scene.plan())

    for (const [name, how] of [
      ['sub', ''],
      ['b.git', '--bare'],
    ] as const) {
      renameSync(join(scene.ws, name), join(scene.ws, `${name}-old`))
      await view.run(`export HOME=/tmp; r=n; git init --quiet ${how} n; ${WITNESS}; mv n ${name}`)
    }
    expect(await view.finish()).toBeNull()
    for (const name of ['sub', 'b.git']) {
      expect(exists(join(scene.ws, name, name === 'sub' ? '.git/HEAD' : 'HEAD'))).toBe(true)
      look(scene, name)
    }
    expect(exists(join(scene.ws, 'ran'))).toBe(false)
    expect(view.problems).toEqual([])
  })

  it('case 92: has no settings at the end below names that are not UTF-8', async () => {
    const scene = await repositoryScene(user)
    const view = await guardedView(scene, await scene.plan())

    const output = await view.run(
      'export HOME=/tmp; n=$(printf "\\377"); mkdir -p a/$n/b/$n $n; r=a/$n/b/$n; ' +
        `git init --quiet $r; ${WITNESS}; chmod 0 a/$n; r=$n; git init --quiet $r; ${WITNESS}; ` +
        'mkdir x; mv x x$n',
    )
    expect(output).toBe('')
    expect(await view.finish()).toBeNull()
    expect(view.aside.filter(({ cause }) => cause === 'invalid')).toHaveLength(4)
    expect(view.aside.filter(({ cause }) => cause === 'repository')).toHaveLength(2)
    for (const { aside, cause } of view.aside) if (cause === 'invalid') look(scene, aside ?? '')
    expect(exists(join(scene.ws, 'ran'))).toBe(false)
  })

  it('is not looked for below names that were there, and a line says so', async () => {
    const scene = await repositoryScene(user)
    const name = Buffer.concat([Buffer.from(`${scene.ws}/`), Buffer.of(0xff)])
    mkdirSync(name)
    if (scene.user !== null) chownSync(name, scene.user.uid, scene.user.gid)
    const plan = await scene.plan()
    const view = await guardedView(scene, plan)

    await view.run('echo x > $(printf "\\377")/x')
    expect(await view.finish()).toBeNull()
    expect(plan.warnings).toEqual([
      expect.stringMatching(/\\xff` is not UTF-8, so hooks and settings below it are not held; /),
    ])
    expect(readdirSync(name)).toEqual(['x'])
    expect(view.aside).toEqual([])
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

  it('can be removed as a working tree of the command', async () => {
    const scene = await repositoryScene(user)
    const view = await guardedView(scene, await scene.plan())

    await view.run('export HOME=/tmp; git worktree add --quiet new')
    await view.guard.settled()
    expect(await view.run('git worktree remove new')).toBe('')
    expect(await view.finish()).toBeNull()
  })
})
