import { lstatSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { parseMountTable } from '../../../../agent/src/sandbox/view/mount-table.ts'
import { guardedView, type RunningView } from '../../fixture/running-view.ts'
import { exists, putFile, USERS, viewScene, type ViewScene } from '../../fixture/view-scene.ts'

/** The paths that were taken away, below the workspace. */
function takenFrom(scene: ViewScene, view: RunningView & { aside: readonly { path: string }[] }) {
  return view.aside.map(({ path }) => path.slice(scene.ws.length + 1)).toSorted()
}

/** Whether the sandbox has a mount at the path. */
function hasMount(view: RunningView, path: string): boolean {
  return parseMountTable(view.mountTable()).some(({ target }) => target === path)
}

describe.each(USERS)('a name that the command makes, %s', (_, user) => {
  it.each(['.mcp.json', '.envrc', '.palisade.yaml', '.devcontainer.json', 'a/.envrc', '.npmrc'])(
    'case 92: is taken away when programs outside obey it: %s',
    async (name) => {
      const scene = await viewScene(user)
      putFile(scene, 'a/x')
      const view = await guardedView(scene, await scene.plan())
      const aside = join(scene.ws, `${name}.refused-by-palisade`)

      await view.run(`echo evil > draft; mv draft ${name}`)
      await expect.poll(() => exists(join(scene.ws, name))).toBe(false)
      expect(readFileSync(aside, 'utf8')).toBe('evil\n')
      await view.run(`echo again > ${name}`)
      await expect.poll(() => exists(join(scene.ws, name))).toBe(false)
      expect(view.aside).toEqual([
        { path: join(scene.ws, name), aside, cause: 'guarded' },
        { path: join(scene.ws, name), aside: `${aside}-2`, cause: 'guarded' },
      ])
      expect(view.problems).toEqual([])
    },
  )

  it('case 92: is taken away as a directory and as a link', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'payload')
    const view = await guardedView(scene, await scene.plan())

    await view.run('mkdir -p x/y .vscode; ln -s payload .envrc; mv x .claude')
    await expect.poll(() => takenFrom(scene, view)).toEqual(['.claude', '.envrc', '.vscode'])
    expect(readdirSync(scene.ws).toSorted()).toEqual([
      '.claude.refused-by-palisade',
      '.envrc.refused-by-palisade',
      '.vscode.refused-by-palisade',
      'payload',
    ])
    expect(view.problems).toEqual([])
  })

  it('case 92: goes at the end when its directory is new', async () => {
    const scene = await viewScene(user)
    const view = await guardedView(scene, await scene.plan())

    await view.run(
      'mkdir -p n/.vscode m/o; echo x > n/.vscode/tasks.json; mv m p; echo y > p/o/.envrc',
    )
    expect(await view.run('cat n/.vscode/tasks.json p/o/.envrc')).toBe('x\ny')
    expect(await view.finish()).toBeNull()
    expect(takenFrom(scene, view)).toEqual(['n/.vscode', 'p/o/.envrc'])
    const kept = join(scene.ws, 'n/.vscode.refused-by-palisade/tasks.json')
    expect(readFileSync(kept, 'utf8')).toBe('x\n')
  })

  it('case 92: goes at the end below another one, and so do settings of a repository', async () => {
    const scene = await viewScene(user)
    const view = await guardedView(scene, await scene.plan())

    await view.run(
      'export HOME=/tmp; mkdir -p n/.vscode c; echo x | tee n/.vscode/.envrc > c/.envrc; ' +
        'git init --quiet n/.vscode/r; git init --quiet c/r; mv c .claude',
    )
    expect(await view.finish()).toBeNull()
    const aside = '.claude.refused-by-palisade'
    expect(takenFrom(scene, view)).toEqual([
      '.claude',
      `${aside}/.envrc`,
      `${aside}/r/.git/config`,
      'n/.vscode',
      'n/.vscode/.envrc',
      'n/.vscode/r/.git/config',
    ])
    expect(readdirSync(join(scene.ws, 'n/.vscode.refused-by-palisade')).toSorted()).toEqual([
      '.envrc.refused-by-palisade',
      'r',
    ])
  })

  it('case 92: stays where a rule spells it, and where a program outside saves it', async () => {
    const scene = await viewScene(user)
    putFile(scene, '.mcp.json')
    scene.rule(['allow', 'write', `${scene.ws}/**/.envrc`])
    const view = await guardedView(scene, await scene.plan())

    await view.run('echo x > .envrc; mkdir n; echo x > n/.envrc')
    putFile(scene, 'draft~')
    renameSync(join(scene.ws, 'draft~'), join(scene.ws, '.mcp.json'))
    await expect.poll(() => hasMount(view, join(scene.ws, '.mcp.json'))).toBe(true)
    await view.guard.settled()
    expect(await view.run('echo x > .mcp.json')).toMatch(/Read-only/)
    expect(await view.finish()).toBeNull()
    expect(view.aside).toEqual([])
    expect(readFileSync(join(scene.ws, '.mcp.json'), 'utf8')).toBe('content of draft~\n')
  })

  it('case 82: is taken away within 50 ms under a wildcard that denies to write', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'a/x')
    scene.rule(['deny', 'write', `${scene.ws}/**/fixed.txt`])
    const view = await guardedView(scene, await scene.plan())

    const windows: number[] = []
    for (let count = 0; count < 20; count += 1) {
      const before = view.aside.length
      const run = view.run(`mkdir -p n${count}/e; echo evil > n${count}/e/fixed.txt`)
      await vi.waitUntil(() => exists(join(scene.ws, `n${count}/e`)), {
        interval: 0,
        timeout: 60_000,
      })
      const begunMs = performance.now()
      await vi.waitUntil(() => view.aside.length > before, { interval: 0, timeout: 60_000 })
      windows.push(performance.now() - begunMs)
      await run
      expect(exists(join(scene.ws, `n${count}/e/fixed.txt`))).toBe(false)
    }
    expect(await view.run('cat n3/e/*')).toBe('evil')
    expect(view.problems).toEqual([])
    // The goal is 50 ms; a shared machine may stop the test for longer than that.
    expect(windows.toSorted((a, b) => a - b)[10]).toBeLessThan(500)
  })

  it('is taken from a directory that the command put in place of one that moved', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'sub/.envrc', 'sub/fixed.txt', 'a/b/.vscode/tasks.json')
    scene.rule(['deny', 'write', `${scene.ws}/**/fixed.txt`])
    const view = await guardedView(scene, await scene.plan())
    const names = ['sub/.envrc', 'sub/fixed.txt', 'a/b/.vscode']

    for (const name of ['sub', 'a/b']) renameSync(join(scene.ws, name), join(scene.ws, `${name}~`))
    await view.run(
      'mkdir sub; echo x > sub/.envrc; echo x > sub/fixed.txt; ' +
        'mkdir -p d/.vscode; echo x > d/.vscode/tasks.json; mv d a/b',
    )
    await expect.poll(() => names.filter((name) => exists(join(scene.ws, name)))).toEqual([])
    expect(await view.finish()).toBeNull()
    expect(takenFrom(scene, view)).toEqual(expect.arrayContaining(names))
    expect(view.problems).toEqual([])
  })

  it('is taken as a link that comes right after the former one', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'own', 'evil')
    symlinkSync('own', join(scene.ws, 'mise.toml'))
    const view = await guardedView(scene, await scene.plan())

    // A file system may give the inode of the former link to the next one.
    await view.run('rm mise.toml; ln -s evil mise.toml')
    await expect.poll(() => exists(join(scene.ws, 'mise.toml'))).toBe(false)
    expect(takenFrom(scene, view)).toEqual(['mise.toml'])
    expect(view.problems).toEqual([])
  })

  it('is a link in place of a directory with guarded names', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'own/config.toml', 'a/x')
    symlinkSync('../own', join(scene.ws, 'a/.cargo'))
    const view = await guardedView(scene, await scene.plan())

    await view.run(
      'mkdir o; echo x > o/config.toml; ln -s o .cargo; ln -s own plain; ' +
        'mkdir n; ln -s ../o n/.hg; mv a/x a/y',
    )
    await expect.poll(() => takenFrom(scene, view)).toEqual(['.cargo'])
    expect(await view.finish()).toBeNull()
    expect(takenFrom(scene, view)).toEqual(['.cargo', 'n/.hg'])
    expect(exists(join(scene.ws, 'a/.cargo'))).toBe(true)
    expect(view.problems).toEqual([])
  })

  it('is left in a directory that keeps its name', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'sub/.envrc', 'sub/x')
    const view = await guardedView(scene, await scene.plan())

    await view.run('echo x > sub/y; mv sub/x sub/z; rm sub/y')
    putFile(scene, 'draft~')
    renameSync(join(scene.ws, 'draft~'), join(scene.ws, 'sub/.envrc'))
    await expect.poll(() => hasMount(view, join(scene.ws, 'sub/.envrc'))).toBe(true)
    expect(await view.finish()).toBeNull()
    expect(view.aside).toEqual([])
  })

  it('goes where no pattern matches it', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'd/x')
    scene.rule(['deny', 'write', `${scene.ws}/gen-*`, `${scene.ws}/d/*`, `${scene.ws}/e/**/*`])
    const view = await guardedView(scene, await scene.plan())

    await view.run('echo x > gen-a; echo y > d/y; mkdir e; echo z > e/z')
    await expect.poll(() => view.aside.length).toBe(3)
    await view.guard.settled()
    const names = view.aside.map(({ aside }) => aside.slice(scene.ws.length + 1))
    expect(names.toSorted()).toEqual([
      'refused-by-palisade.gen-a',
      'y.refused-by-palisade',
      'z.refused-by-palisade',
    ])
    expect(view.problems).toEqual([])
  })

  it('stays read-only under its new name where each name is denied', async () => {
    const scene = await viewScene(user)
    scene.rule(['deny', 'write', `${scene.ws}/*`])
    const view = await guardedView(scene, await scene.plan())
    const aside = join(scene.ws, 'a.refused-by-palisade')

    await view.run('echo x > a')
    await expect.poll(() => hasMount(view, aside)).toBe(true)
    expect(await view.run('echo x > a.refused-by-palisade')).toMatch(/Read-only/)
    expect(readdirSync(scene.ws)).toEqual(['a.refused-by-palisade'])
    expect(view.problems).toEqual([])
  })

  it('is hidden under its new name when a rule denies to read it too', async () => {
    const scene = await viewScene(user)
    const patterns = ['**/*.pem', '**/.envrc', '**/r/.git/config', '**/t'].map(
      (each) => `${scene.ws}/${each}`,
    )
    scene.rule(['deny', 'read', ...patterns], ['deny', 'write', ...patterns.slice(0, 1)])
    const view = await guardedView(scene, await scene.plan())

    putFile(scene, 'a.pem')
    await view.run('echo x > .envrc')
    const taken = ['a.pem', '.envrc'].map((name) => `${name}.hidden-by-palisade`)
    await expect.poll(() => taken.every((name) => exists(join(scene.ws, name)))).toBe(true)
    await expect.poll(() => view.run('cat a.pem.* .envrc.*')).toBe('')
    await view.run(
      'mkdir n; for f in n/b.pem n/.envrc; do echo x > $f; done; git init --quiet r; ' +
        'mkdir -p s/q; echo x > s/q/.mcp.json; mv s/q s/t.pem; mv s u',
    )
    expect(await view.finish()).toBeNull()
    expect(view.problems).toEqual([])
    const hidden = ['a.pem', '.envrc', 'n/b.pem', 'n/.envrc', 'r/.git/config', 'u/t.pem']
    expect(hidden.filter((name) => exists(join(scene.ws, name)))).toEqual([])
    const aside = hidden.map((name) => `${name}.hidden-by-palisade`)
    expect(aside.filter((name) => !exists(join(scene.ws, name)))).toEqual([])
    const below = 'u/t.pem.hidden-by-palisade/.mcp.json'
    expect(exists(join(scene.ws, `${below}.refused-by-palisade`))).toBe(true)

    const next = await guardedView(scene, await scene.plan())
    expect(await next.run(`cat ${aside.slice(0, -1).join(' ')}; ls ${aside.at(-1)}`)).toBe('')
    expect(await next.run('rm -f a.pem.hidden-by-palisade; mv n m')).not.toBe('')
    expect(exists(join(scene.ws, 'a.pem.hidden-by-palisade'))).toBe(true)
  })

  it('can be removed by the next sandbox when no rule denies to read it', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'node_modules/p/.vscode.refused-by-palisade/x')
    putFile(scene, 'dist/.npmrc.refused-by-palisade')
    const { run } = await guardedView(scene, await scene.plan())

    expect(await run('rm -r node_modules/p && mv dist x && rm -r x && ls -A | grep -v node')).toBe(
      '',
    )
  })

  it('is taken from a closed directory, past names that the command made first', async () => {
    const scene = await viewScene(user)
    scene.rule(['deny', 'write', `${scene.ws}/**/fixed.txt`])
    const view = await guardedView(scene, await scene.plan())

    await view.run(
      'mkdir -p d/fixed.txt.refused-by-palisade/x s; echo evil > s/y; mv s/y d/fixed.txt; ' +
        'mkdir t; echo evil > t/fixed.txt; chmod 555 t',
    )
    expect(await view.finish()).toBeNull()
    expect(takenFrom(scene, view)).toEqual(['d/fixed.txt', 't/fixed.txt'])
    expect(exists(join(scene.ws, 'd/fixed.txt.refused-by-palisade-2'))).toBe(true)
    expect(lstatSync(join(scene.ws, 't')).mode & 0o777).toBe(0o555)
  })

  it('is found at the end although the guard has given up', async () => {
    const scene = await viewScene(user)
    putFile(scene, '.env')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const view = await guardedView(scene, await scene.plan())

    view.shell.close()
    putFile(scene, 'draft~')
    renameSync(join(scene.ws, 'draft~'), join(scene.ws, '.env'))
    await expect.poll(() => view.hasEnded()).toBe(true)
    putFile(scene, '.envrc')
    putFile(scene, 'n/.vscode/tasks.json')
    expect(await view.finish()).toBeNull()
    expect(takenFrom(scene, view)).toEqual(['.envrc', 'n/.vscode'])
  })

  it('is found at the end in directories that the command has closed', async () => {
    const scene = await viewScene(user)
    scene.rule(['deny', 'write', `${scene.ws}/**/fixed.txt`])
    const view = await guardedView(scene, await scene.plan())

    await view
      .run(
        'mkdir -p a/b n; git init --quiet r; echo x > a/b/.envrc; echo x > n/.envrc; ' +
          'chmod 0 a/b a r/.git; chmod 444 n; mkdir d; echo x > d/fixed.txt; chmod 0 d',
      )
      .catch(() => '')
    await view.finish()
    expect(takenFrom(scene, view)).toEqual([
      'a/b/.envrc',
      'd/fixed.txt',
      'n/.envrc',
      'r/.git/config',
    ])
  })

  it('is taken away whatever names the command has made before', async () => {
    const scene = await viewScene(user)
    const view = await guardedView(scene, await scene.plan())

    await view.run(
      'mkdir a; echo x > a/.envrc; touch a/.envrc.refused-by-palisade; ' +
        'for i in $(seq 2 200); do touch a/.envrc.refused-by-palisade-$i; done',
    )
    expect(await view.finish()).toBeNull()
    expect(view.aside).toMatchObject([
      { aside: expect.stringMatching(/refused-by-palisade-[0-9a-f]{8}$/) as string },
    ])
    expect(exists(join(scene.ws, 'a/.envrc'))).toBe(false)
  })

  it('ends the command that makes it without end', async () => {
    const scene = await viewScene(user)
    const view = await guardedView(scene, await scene.plan())

    await view.run('while :; do [ -e .envrc ] || : > .envrc; done').catch(() => '')
    expect(view.problems).toEqual(['the command made more than 500 names that it must not leave'])
  })

  it('waits for the last of two sandboxes that see it', async () => {
    const scene = await viewScene(user)
    const waiting = new Map<string, number>()
    const first = await guardedView(scene, await scene.plan(), { waiting })
    const second = await guardedView(scene, await scene.plan(), { waiting })

    await first.run('git init --quiet n')
    await expect.poll(() => waiting.get(join(scene.ws, 'n/.git'))).toBe(2)
    await first.finish()
    expect(exists(join(scene.ws, 'n/.git/config'))).toBe(true)
    await second.finish()
    expect(exists(join(scene.ws, 'n/.git/config'))).toBe(false)
    expect(waiting.size).toBe(0)
  })

  it('waits for a sandbox that starts meanwhile too', async () => {
    const scene = await viewScene(user)
    const waiting = new Map<string, number>()
    const first = await guardedView(scene, await scene.plan(), { waiting })
    const names = ['l/.git', 'n/.envrc', 'r/.git/config']
    await first.run('mkdir n l; echo x > n/.envrc; git init --quiet r; echo "gitdir: x" > l/.git')
    await expect.poll(() => waiting.size).toBe(3)

    const awaited = new Set(waiting.keys())
    const second = await guardedView(scene, await scene.plan(), { waiting, awaited })
    await first.run('git -C r config a.b c')
    await first.finish()
    await second.run(`for f in ${names.join(' ')}; do echo evil > $f; done`)
    expect([first.aside, second.aside]).toEqual([[], []])
    await second.finish()

    expect(names.filter((name) => exists(join(scene.ws, name)))).toEqual([])
    expect(takenFrom(scene, second)).toEqual(names)
    expect(waiting.size).toBe(0)
  })
})
