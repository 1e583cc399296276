import { runSteps } from '@palisade/policy-core'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RepositoryIndices } from '../../../../agent/src/sandbox/aside/repository-indices.ts'
import { guardedView } from '../../fixture/running-view.ts'
import { exists, putFile, USERS, viewScene } from '../../fixture/view-scene.ts'
import { git, look, repositoryScene } from './repository-scene.ts'

const WITNESS = 'git -C $r config core.fsmonitor "touch $PWD/ran; false"'
const COMMIT = '-c user.name=a -c user.email=a@b.c commit --quiet --allow-empty -m x'
/** Makes an index `.git/i` that names a submodule. */
const nameIn = (name: string): string =>
  'cp .git/index .git/i 2>/dev/null; GIT_INDEX_FILE=.git/i git update-index --add --cacheinfo ' +
  `160000,$(git rev-parse HEAD),${name}`
const REPOSITORY = `git init --quiet n; git -C n ${COMMIT}; ${WITNESS}`

describe.each(USERS)('the index of a repository, %s', (_, user) => {
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

  it.each([
    ['written in place', `${REPOSITORY}; ${nameIn('n')}; sleep 0.3; cat .git/i > .git/index`],
    [
      'written under another name',
      `: > .git/index; ln .git/index .git/h; ${REPOSITORY}; ${nameIn('n')}; cat .git/i > .git/h`,
    ],
    ['a link', `${REPOSITORY}; ${nameIn('n')}; ln -sf i .git/index`],
    ['a FIFO', `${REPOSITORY}; rm -f .git/index; mkfifo .git/index`],
    ['damaged', `${REPOSITORY}; sleep 0.3; echo x > .git/index`],
  ])('case 92: ends the command near a new repository when it is %s', async (_name, line) => {
    const scene = await repositoryScene(user)
    git(scene, 'read-tree', 'HEAD')
    const view = await guardedView(scene, await scene.plan())

    await view.run(`export HOME=/tmp; r=n; ${line}; sleep 60`).catch(() => '')
    await expect.poll(() => view.hasEnded()).toBe(true)
    expect(view.problems).toEqual([expect.stringContaining('index')])
    await view.finish()
    look(scene, 'n')
    expect(exists(join(scene.ws, 'ran'))).toBe(false)
  })

  it.each([
    ['while the command runs', '; sleep 60'],
    ['at the end', ''],
  ])('case 92: is taken away when it names a repository in .git, %s', async (_name, rest) => {
    const scene = await repositoryScene(user)
    const view = await guardedView(scene, await scene.plan())

    await view
      .run(
        `export HOME=/tmp; r=.git/n; mkdir $r; git init --quiet $r; git -C $r ${COMMIT}; ` +
          `${WITNESS}; ${nameIn('_git/n')}; sed -i s,_git/n,.git/n, .git/i; ` +
          `mv .git/i .git/index${rest}`,
      )
      .catch(() => '')
    const problem = await view.finish()
    expect([...view.problems, problem].join('')).toMatch(/index` names `\.git\/n` as a submodule/)
    look(scene, '.')
    expect(exists(join(scene.ws, 'ran'))).toBe(false)
    expect(exists(join(scene.ws, '.git/index.refused-by-palisade'))).toBe(true)
  })

  it('stays as the command leaves it with names of its own', async () => {
    const scene = await repositoryScene(user)
    const view = await guardedView(scene, await scene.plan())

    await view.run(
      `export HOME=/tmp; r=n; ${REPOSITORY}; git init --quiet m/n; echo x > f; git add f; sleep 1`,
    )
    expect(await view.finish()).toBeNull()
    expect(view.problems).toEqual([])
    expect(git(scene, 'diff', '--cached', '--name-only')).toBe('f\n')
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

    const repository = join(scene.ws, '.git')
    const faults = ['a/sub', 'a/subs/x', 'z', 'd', 'e', 'f'].map((path) => {
      const indices = new RepositoryIndices([repository], scene.disk)
      indices.add(join(scene.ws, path, '.git'))
      return runSteps(indices.findFault())?.path
    })
    expect(faults).toEqual([
      ...['a/sub', 'a/subs/x', 'z'].map((path) => join(scene.ws, path, '.git')),
      undefined,
      undefined,
      undefined,
    ])
  },
)

it('a submodule has its name in the shared index alone, and is read there', async () => {
  const scene = await repositoryScene()
  const head = git(scene, 'rev-parse', 'HEAD').trim()
  git(scene, 'update-index', '--add', '--cacheinfo', `160000,${head},sub`)
  putFile(scene, 'd')
  git(scene, 'add', 'd')
  git(scene, 'update-index', '--split-index')
  git(scene, 'update-index', '--cacheinfo', `160000,${head.replaceAll(/./g, '1')},sub`)

  const indices = new RepositoryIndices([join(scene.ws, '.git')], scene.disk)
  expect(runSteps(indices.findLastFaults())).toEqual([])
  indices.add(join(scene.ws, 'sub/.git'))
  expect(runSteps(indices.findFault())).toMatchObject({ path: join(scene.ws, 'sub/.git') })
})
