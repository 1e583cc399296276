import {
  chownSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathDenies, compilePolicy } from '@palisade/policy-core'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { parseMountTable } from '../../../../agent/src/sandbox/view/mount-table.ts'
import { policyOf, type RuleLine } from '../../fixture/bundle.ts'
import { guardedView, type RunningView } from '../../fixture/running-view.ts'
import { exists, makeParents, USERS, viewScene, type ViewScene } from '../../fixture/view-scene.ts'

const SAVES = 60
const FLOODS = [
  ['renames files without end', 'open A, ">a/1"; close A; rename "a/1", "a/2"; unlink "a/2"'],
  ['writes files without end', 'for (1, 2) { open A, ">>a/$_"; print A "x"; close A }'],
] as const

function put(scene: ViewScene, path: string, content = `content of ${path}\n`): void {
  const full = join(scene.ws, path)
  makeParents(scene, full)
  writeFileSync(full, content)
  if (scene.user !== null) chownSync(full, scene.user.uid, scene.user.gid)
}

/** Saves as editors do. */
function saveAtomically(scene: ViewScene, path: string, content: string): void {
  put(scene, 'draft~', content)
  renameSync(join(scene.ws, 'draft~'), join(scene.ws, path))
}

describe.each(USERS)('the live guard, %s', (_, user) => {
  it('case 84: masks a file again that a program outside saves atomically', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/.env')
    scene.rule(['deny', 'read', `${scene.ws}/a/.env`])
    const view = await guardedView(scene, await scene.plan())
    const target = join(scene.ws, 'a/.env')
    const isMasked = (): boolean => hasMount(view, target)
    expect(await view.run('cat a/.env')).toBe('')

    const windows: number[] = []
    for (let save = 0; save < SAVES; save += 1) {
      const begunMs = performance.now()
      saveAtomically(scene, 'a/.env', `new secret ${save}\n`)
      await vi.waitUntil(isMasked, { interval: 0, timeout: 60_000 })
      windows.push(performance.now() - begunMs)
      await view.guard.settled()
    }
    const median = windows.toSorted((a, b) => a - b)[SAVES >> 1]

    expect(await view.run('cat a/.env')).toBe('')
    expect(readFileSync(target, 'utf8')).toBe(`new secret ${SAVES - 1}\n`)
    expect(view.problems).toEqual([])
    // The goal is 20 ms; a shared machine may stop the test for longer than that.
    expect(median).toBeLessThan(200)
  })

  it('case 84: keeps a file read-only that a program outside saves atomically', async () => {
    const scene = await viewScene(user)
    put(scene, '.git/config')
    put(scene, 'locked')
    scene.rule(['deny', 'write', `${scene.ws}/locked`])
    const view = await guardedView(scene, await scene.plan())

    saveAtomically(scene, 'locked', 'saved\n')
    saveAtomically(scene, '.git/config', 'saved\n')
    for (const path of ['locked', '.git/config'])
      await expect.poll(() => hasMount(view, join(scene.ws, path))).toBe(true)
    await view.guard.settled()
    expect(await view.run('echo x > locked')).toMatch(/Read-only/)
    expect(await view.run('echo x > .git/config')).toMatch(/Read-only/)
    expect(readFileSync(join(scene.ws, 'locked'), 'utf8')).toBe('saved\n')
  })

  it('holds hundreds of names before the command begins', async () => {
    const scene = await viewScene(user)
    const names = Array.from({ length: 300 }, (_, index) => `node_modules/p${index}/.npmrc`)
    const keys = names.map((name) => name.replace('.npmrc', 'key.pem'))
    const nested = ['z/a/.envrc', 'z/a/b/.env', 'z/sub/.git/HEAD', 'z/sub/.git/config']
    for (const name of [...names, ...keys, ...nested]) put(scene, name)
    scene.rule(['deny', 'read', '/**/*.pem', '/**/.env'])
    const view = await guardedView(scene, await scene.plan())

    expect(await view.run('cat */*/*.pem z/a/b/.env')).toBe('')
    const held = 'for f in */*/.npmrc z/a/.envrc z/sub/.git/config; do echo x > $f; done 2>&1'
    expect(await view.run(`${held} | grep -c Read-only`)).toBe('302')
    expect(await view.run('mv z/a/b z/c; mv z/a z/c; mv z/sub z/c')).toMatch(/(?:busy[^]*){3}/)
    saveAtomically(scene, 'node_modules/p299/key.pem', 'new secret\n')
    await expect.poll(() => view.run('cat node_modules/p299/key.pem')).toBe('')
    expect(view.problems).toEqual([])
  })

  it('takes a mask that is not made when the command ends for no problem', async () => {
    const scene = await viewScene(user)
    scene.rule(['deny', 'read', `${scene.ws}/**/*.pem`])
    const ended = Promise.withResolvers<void>()
    let asked = 0
    const view = await guardedView(scene, await scene.plan(), {
      wrapShell: (shell) => ({
        get isAlive() {
          return shell.isAlive
        },
        async mount(command) {
          asked += 1
          await ended.promise
          return shell.mount(command)
        },
        limitEntries: (target, entries) => shell.limitEntries(target, entries),
        close: () => shell.close(),
      }),
    })

    put(scene, 'key.pem')
    await expect.poll(() => asked).toBe(1)
    const finished = view.finish()
    await expect.poll(() => view.shell.isAlive).toBe(false)
    ended.resolve()

    expect(await finished).toBeNull()
    expect(view.problems).toEqual([])
  })

  it('case 82: masks a file that the command renames to a denied name', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/x')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const view = await guardedView(scene, await scene.plan())

    expect(await view.run('mv a/x a/.env; mkdir -p n/e/w; echo y > n/e/w/.env')).toBe('')
    await expect.poll(() => view.run('cat a/.env n/e/w/.env')).toBe('')
    expect(readFileSync(join(scene.ws, 'a/.env'), 'utf8')).toBe('content of a/x\n')
  })

  it('masks a denied file that appears, alone or in a directory that is moved in', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/x')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`, `${scene.ws}/**/*.pem`])
    const view = await guardedView(scene, await scene.plan())
    const outside = join(scene.home, 'project')
    mkdirSync(join(outside, 'deep/er'), { recursive: true })
    writeFileSync(join(outside, 'deep/er/.env'), 'secret\n')
    writeFileSync(join(outside, 'deep/er/code'), 'code\n')

    put(scene, 'a/b/key.pem')
    renameSync(outside, join(scene.ws, 'moved'))
    await expect.poll(() => view.run('cat a/b/key.pem moved/deep/er/*')).toBe('code')
    await expect.poll(() => view.run('cat a/b/key.pem moved/deep/er/.env')).toBe('')
    put(scene, 'moved/deep/.env')
    await expect.poll(() => view.run('cat moved/deep/.env')).toBe('')
    expect(view.problems).toEqual([])
  })

  it('case 85: masks a directory again that a program outside renamed and made anew', async () => {
    const scene = await viewScene(user)
    put(scene, 'secret/key')
    scene.rule(['deny', 'read', `${scene.ws}/secret/**`])
    const view = await guardedView(scene, await scene.plan())

    renameSync(join(scene.ws, 'secret'), join(scene.ws, 'old'))
    put(scene, 'secret/key', 'new secret\n')
    await expect.poll(() => view.run('ls -A secret; cat secret/key')).toMatch(/No such file/)
    expect(await view.run('ls -A old')).toBe('')
    rmSync(join(scene.ws, 'secret'), { recursive: true })
    put(scene, 'secret/key', 'newer secret\n')
    await expect.poll(() => view.run('cat secret/key')).toMatch(/No such file/)
  })

  it('case 79: masks a hard link to a denied file that a program outside makes', async () => {
    const scene = await viewScene(user)
    put(scene, '.env')
    put(scene, 'a/x')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const view = await guardedView(scene, await scene.plan())

    linkSync(join(scene.ws, '.env'), join(scene.ws, 'a/alias'))
    await expect.poll(() => view.run('cat a/alias')).toBe('')
  })

  it('leaves the settings of a repository to the command that makes it', async () => {
    const scene = await viewScene(user)
    put(scene, 'old/.git/config')
    scene.rule(['deny', 'read', `${scene.ws}/**/*.pem`])
    const view = await guardedView(scene, await scene.plan())

    const make =
      'for r in . new a/b; do mkdir -p $r; git init --quiet $r; git -C $r config a.b 1; ' +
      'echo x > $r/.git/a.pem; done'
    expect(await view.run(make)).toBe('')
    await expect.poll(() => view.run('cat .git/a.pem new/.git/a.pem a/b/.git/a.pem')).toBe('')
    expect(await view.run('for r in . new a/b; do git -C $r config a.b 2; done')).toBe('')
    expect(await view.run('echo x > old/.git/config')).toMatch(/Read-only/)
    saveAtomically(scene, 'old/.git/config', 'saved\n')
    await expect.poll(() => view.run('echo x > old/.git/config')).toMatch(/Read-only/)
    expect(view.aside).toEqual([])
    expect(view.problems).toEqual([])
  })

  it.each(['.git', '.git/modules/sub', '.bare'])(
    'case 92: ends a command that leads git to other settings by %s',
    async (repository) => {
      const scene = await viewScene(user)
      put(scene, '.git/HEAD')
      for (const name of ['HEAD', 'objects/x', 'refs/x']) put(scene, `${repository}/${name}`)
      const file = join(scene.ws, repository, 'commondir')
      const view = await guardedView(scene, await scene.plan())

      await view.run(`echo /tmp/evil > ${repository}/commondir`).catch(() => '')
      await expect.poll(() => view.hasEnded()).toBe(true)
      expect(view.problems).toEqual([
        expect.stringMatching(/commondir`, with which git outside .*refused-by-palisade` now$/),
      ])
      expect(exists(file)).toBe(false)
      // The guard can move the file before the shell has written its line.
      expect(readFileSync(`${file}.refused-by-palisade`, 'utf8')).toMatch(/^(\/tmp\/evil\n)?$/)
    },
  )

  it('case 92: ends a command that leads git away for a moment only', async () => {
    const scene = await viewScene(user)
    put(scene, '.git/HEAD')
    const view = await guardedView(scene, await scene.plan())

    await view
      .run('echo x > .git/y; mv .git/y .git/commondir; rm -f .git/commondir')
      .catch(() => '')
    await expect.poll(() => view.hasEnded()).toBe(true)
  })

  it('case 92: lets a further working tree of a repository be made', async () => {
    const scene = await viewScene(user)
    put(scene, '.git/HEAD')
    const view = await guardedView(scene, await scene.plan())

    const tree = '.git/worktrees/a'
    const made = await view.run(`mkdir -p ${tree}; echo ../.. > ${tree}/commondir; cat ${tree}/*`)
    expect(made).toBe('../..')
    await view.run('echo x > commondir; mkdir a; echo x > a/commondir')
    await view.guard.settled()
    expect(view.problems).toEqual([])
  })

  it('masks what a new policy denies, and names workspaces that it no longer opens', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/key')
    put(scene, 'a/other')
    const view = await guardedView(scene, await scene.plan())
    expect(await view.run('cat a/key')).toBe('content of a/key')
    const denies = denying(['deny', 'read', `${scene.ws}/**/key`])

    const gone = await view.guard.tighten({ denies, isGranted: () => true })
    expect(gone).toEqual([])
    expect(await view.run('cat a/key a/other')).toBe('content of a/other')
    put(scene, 'b/key')
    await expect.poll(() => view.run('cat b/key')).toBe('')
    const [revoked] = await view.guard.tighten({ denies, isGranted: () => false })
    expect(revoked).toMatchObject({ path: scene.ws })
  })

  it('ends the sandbox when the shell is gone and a mask is needed', async () => {
    const scene = await viewScene(user)
    put(scene, '.env')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const view = await guardedView(scene, await scene.plan())

    view.shell.close()
    saveAtomically(scene, '.env', 'new secret\n')
    await expect.poll(() => view.hasEnded()).toBe(true)
    expect(view.problems).toEqual([
      expect.stringMatching(/^the denied files of the sandbox cannot be kept hidden: /),
    ])
  })

  it('ends the sandbox when its workspace is moved', async () => {
    const scene = await viewScene(user)
    put(scene, '.env')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const view = await guardedView(scene, await scene.plan())

    renameSync(scene.ws, `${scene.ws}.moved`)
    await expect.poll(() => view.hasEnded()).toBe(true)
    expect(view.problems).toEqual([expect.stringMatching(/was moved or replaced/)])
  })

  it('ends the sandbox when a denied name appears that cannot be masked', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/x')
    scene.rule(['deny', 'read', `${scene.ws}/**/*.pem`])
    const view = await guardedView(scene, await scene.plan())

    const odd = Buffer.concat([
      Buffer.from(`${scene.ws}/a/`),
      Buffer.from([0xff]),
      Buffer.from('.pem'),
    ])
    writeFileSync(odd, 'secret\n')
    await expect.poll(() => view.hasEnded()).toBe(true)
    expect(view.problems).toEqual([expect.stringMatching(/\\xff\.pem` is not UTF-8/)])
  })

  it('has no complaint when the sandbox ends while files change', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/.env')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const view = await guardedView(scene, await scene.plan())

    view.kill()
    await expect.poll(() => view.hasEnded()).toBe(true)
    await vi.waitFor(() => expect(view.mountTable).toThrow('has ended'), 60_000)
    for (let count = 0; count < 20; count += 1) {
      saveAtomically(scene, 'a/.env', 'saved\n')
      await delay(20)
    }
    await view.guard.settled()
    expect(view.problems).toEqual([])
  })

  it('refuses to start without watches', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/.env')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const plan = await scene.plan()
    const full = (): never => {
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    }

    await expect(guardedView(scene, plan, { watch: full })).rejects.toThrow(
      /no watch is left for .*; raise the limit by `sysctl fs\.inotify\.max_user_watches=/,
    )
  })

  it.each(FLOODS)('leaves time for other work while a command %s', async (_name, body) => {
    const scene = await viewScene(user)
    put(scene, 'a/.env')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const view = await guardedView(scene, await scene.plan())
    const target = join(scene.ws, 'a/.env')
    let turns = 0
    const timer = setInterval(() => (turns += 1), 5)

    const flood = view.run(`perl -e '$end = time + 4; while (time < $end) { ${body} }'`)
    await delay(1000)
    for (let save = 0; save < 10; save += 1) {
      saveAtomically(scene, 'a/.env', `new secret ${save}\n`)
      await vi.waitUntil(() => hasMount(view, target), { interval: 1, timeout: 60_000 })
    }
    await flood
    clearInterval(timer)

    expect(await view.run('cat a/.env')).toBe('')
    expect(view.problems).toEqual([])
    // A loop that reads every event has fewer than ten turns.
    expect(turns).toBeGreaterThan(50)
  })

  it('lives through a command that renames and removes without end', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/b/.env')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const view = await guardedView(scene, await scene.plan())

    await view.run(
      'for i in 1 2 3 4 5 6 7 8 9; do mkdir -p x/y; mv x z$i; mv z$i/y w; rm -r w z$i; done',
    )
    saveAtomically(scene, 'a/b/.env', 'new secret\n')
    await expect.poll(() => view.run('cat a/b/.env')).toBe('')
    await delay(1200)
    expect(view.problems).toEqual([])
    expect(await view.run('cat a/b/.env')).toBe('')
  })
})

/** Whether the sandbox has a mount at the path. */
function hasMount(view: RunningView, path: string): boolean {
  return parseMountTable(view.mountTable()).some(({ target }) => target === path)
}

function denying(...rules: readonly RuleLine[]) {
  return pathDenies(compilePolicy({ policies: [policyOf(...rules)] }))
}
