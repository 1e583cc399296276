import { lstatSync, readdirSync, readFileSync, renameSync } from 'node:fs'
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

  it('goes where no pattern matches it', async () => {
    const scene = await viewScene(user)
    putFile(scene, 'd/x')
    scene.rule(['deny', 'write', `${scene.ws}/gen-*`, `${scene.ws}/d/*`, `${scene.ws}/e/**/*`])
    const view = await guardedView(scene, await scene.plan())

    await view.run('echo x > gen-a; echo y > d/y; mkdir e; echo z > e/z')
    await expect.poll(() => view.aside.length).toBe(3)
    await view.guard.settled()
    expect(view.aside.map(({ aside }) => aside.slice(scene.ws.length + 1)).toSorted()).toEqual([
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

  it('stays hidden under its new name when a rule denies to read it too', async () => {
    const scene = await viewScene(user)
    scene.rule(['deny', 'read', `${scene.ws}/**/*.pem`], ['deny', 'write', `${scene.ws}/**/*.pem`])
    const view = await guardedView(scene, await scene.plan())
    const aside = join(scene.ws, 'a.pem.refused-by-palisade')

    putFile(scene, 'a.pem')
    await expect.poll(() => exists(aside)).toBe(true)
    await view.guard.settled()
    expect(await view.run('cat a.pem.refused-by-palisade')).toBe('')
    renameSync(aside, `${aside}.old`)
    putFile(scene, 'a.pem.refused-by-palisade')
    await expect.poll(() => view.run('cat a.pem.refused-by-palisade')).toBe('')
    expect(hasMount(view, aside)).toBe(true)
    expect(view.problems).toEqual([])
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
})
