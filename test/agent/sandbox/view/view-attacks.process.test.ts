import { execFileSync } from 'node:child_process'
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { activePolicy } from '../../fixture/active-policy.ts'
import { canFillDisks } from '../../fixture/small-disk.ts'
import { startView } from '../../fixture/running-view.ts'
import {
  exists,
  putFile as put,
  USERS,
  viewScene,
  type ViewScene,
} from '../../fixture/view-scene.ts'

const canMount = canFillDisks()

/** A disk of the host with a file, which goes away with the files of the run. */
function mountDisk(scene: ViewScene, name: string): string {
  const disk = join(scene.directory, name)
  mkdirSync(disk)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk])
  onTestFinished(() => {
    if (readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${disk} `))
      execFileSync('umount', ['--lazy', disk])
  })
  writeFileSync(join(disk, 'file'), '')
  return disk
}

/** A running sandbox without a guard, whose mount table is the planned one. */
async function start(scene: ViewScene, ...plan: Parameters<ViewScene['plan']>) {
  const planned = await scene.plan(...plan)
  const running = await startView(scene, planned)
  expect(running.compare()).toBeNull()
  running.open()
  return { ...running, plan: planned }
}

describe.each(USERS)('the view of a sandbox, %s', (_, user) => {
  it('shows the system, the workspace, and otherwise private places', async () => {
    const scene = await viewScene(user)
    put(scene, 'code.txt', `${scene.home}/.ssh/id_rsa`)
    const { run } = await start(scene)

    expect(await run('cat code.txt')).toBe('content of code.txt')
    expect(await run('echo new > made.txt; cat made.txt')).toBe('new')
    expect(readFileSync(join(scene.ws, 'made.txt'), 'utf8')).toBe('new\n')
    expect(await run(`ls -A ${scene.home}`)).toBe('ws')
    expect(await run(`ls -A ${scene.data}`)).toMatch(/No such file/)
    expect(await run('ls -A / | grep -vE "^(lib.*|s?bin|opt)$" | tr "\\n" " "')).toBe(
      'dev etc proc run tmp usr var',
    )
    expect(await run('cat /etc/resolv.conf')).toMatch(/^nameserver 127\.0\.0\.1$/m)
    expect(await run('cat /etc/shadow')).toMatch(/No such file/)
    expect(await run('cut -d: -f1 /etc/passwd | sort | tr "\\n" " "')).toMatch(/^dev nobody/)
    expect(await run('touch /usr/x')).toMatch(/Read-only file system/)
    expect(await run('touch /x')).toMatch(/Read-only file system/)
    const places = ['/tmp', '/run', '/var/tmp', '/dev/shm', scene.home]
    const files = places.map((place) => join(place, 'private-file'))
    expect(await run(`touch ${files.join(' ')} && ls ${files.join(' ')} | wc -l`)).toBe('5')
    expect(files.filter(exists)).toEqual([])
  })

  it('shows a read-only workspace without its denied files', async () => {
    const scene = await viewScene(user)
    put(scene, 'code.txt', '.env')
    scene.rule(['deny', 'read', `${scene.ws}/**/.env`])
    const { run } = await start(scene, [{ path: scene.ws, access: 'ro' }])

    expect(await run('cat code.txt .env')).toBe('content of code.txt')
    expect(await run('touch x')).toMatch(/Read-only file system/)
  })

  it('case 76: is not the planned one after the workspace was swapped for a link', async () => {
    const scene = await viewScene(user)
    put(scene, 'code.txt', `${scene.home}/other/private.txt`)
    const planned = await scene.plan()
    renameSync(scene.ws, `${scene.ws}.old`)
    symlinkSync(join(scene.home, 'other'), scene.ws)
    const running = await startView(scene, planned)

    expect(running.compare()).toMatch(/ws` is not the one that was checked/)
  })

  it('case 76: is not the planned one after a mask or a directory was swapped', async () => {
    const scene = await viewScene(user)
    put(scene, '.env')
    scene.rule(['deny', 'read', `${scene.ws}/.env`])
    const planned = await scene.plan()
    renameSync(scene.ws, `${scene.ws}.old`)
    mkdirSync(scene.ws)
    scene.own(scene.ws)
    put(scene, '.env')
    const running = await startView(scene, planned)

    expect(running.compare()).toMatch(/was replaced after it was checked/)
  })

  it('case 76: is not the planned one with a mount too many or too few', async () => {
    const scene = await viewScene(user)
    put(scene, 'a')
    const planned = await scene.plan()
    const more = { kind: 'bind', source: scene.home, target: '/extra', access: 'ro' } as const
    const { mounts } = planned
    const most = await startView(scene, { ...planned, mounts: [...mounts, more] })
    const terminal = { ...more, target: '/dev/console' } as const
    const console = await startView(scene, { ...planned, mounts: [...mounts, terminal] })
    const fewest = await startView(scene, {
      ...planned,
      mounts: mounts.filter(({ target }) => target !== '/var/tmp'),
    })
    const writable = await startView(scene, {
      ...planned,
      mounts: mounts.map((mount) =>
        mount.target === '/etc/hosts' && mount.kind === 'bind' ? { ...mount, access: 'rw' } : mount,
      ),
    })

    expect(most.compare()).toBe('the mount `/extra` is not the one that was checked')
    expect(console.compare()).toBe('the mount `/dev/console` is not the one that was checked')
    expect(fewest.compare()).toMatch(/^the mount `\/var\/tmp` is missing/)
    expect(writable.compare()).toBe('the mount `/etc/hosts` is not the one that was checked')
  })

  it.skipIf(!canMount)('starts after file systems of the host have gone away', async () => {
    const scene = await viewScene(user)
    const disks = Array.from({ length: 64 }, (_, index) => mountDisk(scene, `disk-${index}`))
    const planned = await scene.plan()
    // The next file systems get their device numbers.
    execFileSync('umount', disks)
    const running = await startView(scene, planned)

    expect(running.compare()).toBeNull()
  })

  it.skipIf(!canMount)('case 76: is not the planned one with a disk of the host', async () => {
    const scene = await viewScene(user)
    const older = mountDisk(scene, 'older')
    const planned = await scene.plan()
    const newer = mountDisk(scene, 'newer')
    const start = (source: string) =>
      startView(scene, {
        ...planned,
        mounts: planned.mounts.map((mount) =>
          mount.target === '/tmp' ? { kind: 'bind', source, target: '/tmp', access: 'rw' } : mount,
        ),
      })
    const [withOlder, withNewer] = [await start(older), await start(newer)]
    const refusal = 'the mount `/tmp` is not the one that was checked'

    expect(withOlder.compare()).toBe(refusal)
    expect(withNewer.compare()).toBe(refusal)
    // A sandbox keeps the disk in existence, and the host has it no more.
    execFileSync('umount', ['--lazy', older, newer])
    expect(withOlder.compare()).toBe(refusal)
    expect(withNewer.compare()).toBe(refusal)
  })

  it('case 77: leads no link to a denied or an absent path', async () => {
    const scene = await viewScene(user)
    put(scene, 'secret/key', `${scene.home}/private`)
    symlinkSync('secret/key', join(scene.ws, 'to-denied'))
    symlinkSync(join(scene.home, 'private'), join(scene.ws, 'to-absent'))
    scene.rule(['deny', 'read', `${scene.ws}/secret/**`])
    const { run } = await start(scene)

    expect(await run('cat to-denied')).toMatch(/No such file/)
    expect(await run('cat to-absent')).toMatch(/No such file/)
    expect(await run('ls -A secret')).toBe('')
  })

  it('case 78: ends above the workspace', async () => {
    const scene = await viewScene(user)
    put(scene, `${scene.home}/private`, `${scene.directory}/outside`)
    const { run } = await start(scene)

    expect(await run('cat ../private ../../outside')).toMatch(/No such file[^]*No such file/)
    expect(await run('ls -A /proc/self/cwd/..')).toBe('ws')
    expect(await run('ls -A /proc/1/root/home /proc/self/root/root')).not.toMatch(/private/)
  })

  it('case 79: hides the other names of a denied file', async () => {
    const scene = await viewScene(user)
    put(scene, '.env', 'a/b/c', `${scene.home}/.ssh/id`)
    linkSync(join(scene.ws, '.env'), join(scene.ws, 'a/alias'))
    linkSync(join(scene.home, '.ssh/id'), join(scene.ws, 'a/id'))
    linkSync(join(scene.ws, '.env'), join(scene.home, 'outside'))
    scene.rule(['deny', 'read', `${scene.ws}/.env`, `${scene.home}/.ssh/id`])
    const { plan, run } = await start(scene)

    expect(await run('cat .env a/alias a/id a/b/c')).toBe('content of a/b/c')
    expect(plan.warnings).toEqual([
      `the denied file \`${scene.ws}/.env\` has 1 more names outside the workspaces`,
    ])
  })

  it('holds the other names of a guarded file, which it does not search for packages', async () => {
    const scene = await viewScene(user)
    put(scene, '.envrc', 'a/x', 'node_modules/p/.npmrc')
    linkSync(join(scene.ws, '.envrc'), join(scene.ws, 'a/alias'))
    linkSync(join(scene.ws, '.envrc'), join(scene.home, 'outside'))
    linkSync(join(scene.ws, 'node_modules/p/.npmrc'), join(scene.ws, 'store'))
    const { plan, run } = await start(scene)

    expect(await run('echo x > a/alias')).toMatch(/Read-only/)
    expect(await run('mv a b')).toMatch(/busy/)
    expect(await run('cat a/alias; echo y > store')).toBe('content of .envrc')
    expect(plan.warnings).toEqual([])
  })

  it('case 80: makes no hard link to a path outside or to a denied file', async () => {
    const scene = await viewScene(user)
    put(scene, '.env')
    scene.rule(['deny', 'read', `${scene.ws}/.env`])
    const { run } = await start(scene)

    expect(await run('ln /etc/hosts x')).toMatch(/Invalid cross-device link|not permitted/)
    expect(await run('ln .env x')).toMatch(/Invalid cross-device link|not permitted/)
    expect(await run('cat x .env')).toMatch(/^cat: x: No such file/)
  })

  it('case 81: keeps a denied name from being renamed, replaced or removed', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/.env', 'a/secret/key', 'x')
    scene.rule(['deny', 'read', `${scene.ws}/a/.env`, `${scene.ws}/a/secret/**`])
    const { run } = await start(scene)

    for (const line of ['mv a/.env y', 'mv -f x a/.env', 'rm -f a/.env', 'mv a/secret z'])
      expect(await run(line), line).toMatch(/busy/)
    // With another name the directory would show them to the next sandbox.
    expect(await run('rm -rf a; mv a b; cat b/.env b/secret/key')).toMatch(/busy/)
    expect(readFileSync(join(scene.ws, 'a/.env'), 'utf8')).toBe('content of a/.env\n')
  })

  it('case 81: keeps the directories above a held path in place, whatever holds it', async () => {
    const scene = await viewScene(user)
    put(scene, 'a/b/.env', 'c/fixed.txt', 'd/.envrc', 'e/.vscode/tasks.json', 'x/y')
    put(scene, ...['HEAD', 'config', 'objects/x', 'refs/x'].map((name) => `sub/.git/${name}`))
    scene.rule(['deny', 'read', '/**/.env'], ['deny', 'write', `${scene.ws}/**/fixed.txt`])
    const { run } = await start(scene)

    for (const name of ['a', 'a/b', 'c', 'd', 'e', 'sub', 'sub/.git'])
      expect(await run(`mv ${name} z`), name).toMatch(/busy/)
    expect(await run('mv x n; mv n/y a/b; cat a/b/y')).toBe('content of x/y')
  })

  it('lets a package manager rename packages with guarded files', async () => {
    const scene = await viewScene(user)
    put(scene, 'node_modules/p/.npmrc', 'node_modules/q/.env')
    scene.rule(['deny', 'read', '/**/.env'])
    const { run } = await start(scene)

    expect(await run('mv node_modules/p node_modules/.p')).toBe('')
    expect(await run('mv node_modules/q node_modules/.q')).toMatch(/busy/)
  })

  it('case 83: keeps the directories above a missing denied path in place', async () => {
    const scene = await viewScene(user)
    put(scene, 'deploy/readme')
    scene.rule(['deny', 'write', `${scene.ws}/deploy/prod.yaml`])
    const { run } = await start(scene)
    expect(await run('mv deploy d2')).toMatch(/busy/)
    expect(await run('echo EVIL >deploy/prod.yaml')).toMatch(/Read-only|denied/)
  })

  it('case 86: lets no mount be removed, changed or moved from inside', async () => {
    const scene = await viewScene(user)
    put(scene, '.env')
    scene.rule(['deny', 'read', `${scene.ws}/.env`])
    const { run } = await start(scene)

    for (const line of [
      'umount .env',
      'umount -l .',
      'mount -o remount,rw /usr',
      'mount --move .env /tmp',
      'mount -t tmpfs t /tmp',
      'unshare -Urm true',
    ])
      expect(await run(line), line).toMatch(/not permitted|must be superuser|denied|No space/i)
    expect(await run('cat .env')).toBe('')
  })

  it('case 87: lets no call write through a read-only mask', async () => {
    const scene = await viewScene(user)
    put(scene, 'config', 'x')
    scene.rule(['deny', 'write', `${scene.ws}/config`])
    const { run } = await start(scene)
    const calls = [
      'echo y > config',
      'echo y >> config',
      'truncate -s 0 config',
      'chmod 777 config',
      'touch -d 2001-01-01 config',
      'cp --reflink=auto x config',
      'dd if=x of=config conv=notrunc',
      `perl -e 'open(F,"+<","config") or die "$!\\n"'`,
      `perl -e 'utime(1,1,"config") or die "$!\\n"'`,
    ]

    for (const line of calls) expect(await run(line), line).toMatch(/Read-only file system/)
    expect(await run('ln -f x config')).toMatch(/busy|cross-device/)
    expect(await run('mv -f x config')).toMatch(/busy/)
    expect(readFileSync(join(scene.ws, 'config'), 'utf8')).toBe('content of config\n')
  })

  it('case 88: lets no file be written into a hidden directory', async () => {
    const scene = await viewScene(user)
    put(scene, 'secret/key')
    scene.rule(['deny', 'read', `${scene.ws}/secret/**`])
    const { run } = await start(scene)

    expect(await run('echo x > secret/y')).toMatch(/Read-only file system/)
    expect(await run('mkdir secret/y')).toMatch(/Read-only file system/)
    expect(await run('echo x > secret/key')).toMatch(/Read-only file system/)
  })

  it('case 90: hides names with a newline, stars, quotes and 255 bytes', async () => {
    const scene = await viewScene(user)
    const long = 'n'.repeat(255)
    put(scene, 'd/a\nb', 'd/*', "d/it's", `d/${long}`, 'd/\u00e9', 'd/e\u0301', 'd/$(x)')
    scene.rule([
      'deny',
      'read',
      ...['*b', "it's", long, '\u00e9', '$(x)'].map((name) => `${scene.ws}/d/${name}`),
    ])
    const { run } = await start(scene)

    expect(await run('cat d/*b d/it* d/nnn* d/\u00e9 d/\\$*')).toBe('')
    expect(await run('cat d/\\* d/e\u0301')).toBe('content of d/*\ncontent of d/e\u0301')
  })

  it('case 92: lets no hook, task or setting for programs outside be planted', async () => {
    const scene = await viewScene(user)
    put(scene, '.git/config', '.git/hooks/sample', '.vscode/tasks.json', '.mcp.json', '.git/HEAD')
    const { run } = await start(scene)

    for (const line of [
      'echo x > .git/hooks/pre-commit',
      'echo x > .git/config',
      'echo x > .vscode/tasks.json',
      'echo x > .mcp.json',
      'echo x > .git/config.worktree',
      'mkdir .git/info/x',
    ])
      expect(await run(line), line).toMatch(/Read-only file system/)
    for (const line of ['mv .git .git2', 'mv .vscode x', 'rm -f .mcp.json', 'rmdir .git/info'])
      expect(await run(line), line).toMatch(/busy/)
    expect(await run('echo ref > .git/HEAD && cat .git/HEAD')).toBe('ref')
  })

  it('case 92: makes no hook in a repository without a directory for hooks', async () => {
    const scene = await viewScene(user)
    put(scene, '.git/HEAD')
    const { plan, run } = await start(scene)

    expect(await run('echo x > .git/hooks/pre-commit')).toMatch(/Read-only file system/)
    expect(await run('rmdir .git/hooks')).toMatch(/busy/)
    for (const name of ['config', 'config.worktree', 'info/attributes'])
      expect(await run(`echo x > .git/${name}`)).toMatch(/Read-only file system|No such file/)
    expect(readdirSync(scene.ws)).toEqual(['.git'])
    await plan.release()
    expect(readdirSync(join(scene.ws, '.git'))).toEqual(['HEAD'])
  })

  it('case 92: holds repositories under other names, and those of submodules', async () => {
    const scene = await viewScene(user)
    const [bare, submodule] = ['.bare', '.git/modules/libs/sub']
    for (const each of [bare, submodule])
      put(scene, ...['HEAD', 'config', 'objects/x', 'refs/x'].map((name) => `${each}/${name}`))
    put(scene, '.bare/hooks/sample', '.bare/worktrees/main/HEAD', '.bare/worktrees/main/commondir')
    const { run } = await start(scene)

    for (const line of [
      'echo x > .bare/hooks/pre-commit',
      'echo x >> .bare/config',
      'echo x > .bare/worktrees/main/commondir',
      `echo x > ${submodule}/hooks/pre-commit`,
    ])
      expect(await run(line), line).toMatch(/Read-only file system/)
    const kept = [bare, '.bare/worktrees', '.bare/worktrees/main', '.git/modules', submodule]
    for (const path of kept) expect(await run(`mv ${path} ${path}2`), path).toMatch(/busy/)
    expect(await run('echo x > .bare/refs/new && cat .bare/refs/new')).toBe('x')
  })

  it('case 92: opens a guarded name that an allow rule spells out', async () => {
    const scene = await viewScene(user)
    put(scene, '.git/config', '.vscode/tasks.json')
    scene.rule(['allow', 'write', `${scene.ws}/.vscode/**`])
    const { run } = await start(scene)

    expect(await run('echo x > .vscode/tasks.json && cat .vscode/tasks.json')).toBe('x')
    expect(await run('echo x > .git/config')).toMatch(/Read-only file system/)
  })

  it('starts where a rule names a path that the agent cannot look at', async () => {
    const scene = await viewScene(user)
    put(scene, 'a')
    scene.rule(['deny', 'read', '/root/.ssh/id', '/proc/1/fd/0', `${scene.ws}/a/b`])
    const { run } = await start(scene)

    expect(await run('cat a')).toBe('content of a')
  })

  it('hides a path of the system tree that a rule names', async () => {
    const scene = await viewScene(user)
    scene.rule(['deny', 'read', '/usr/share/doc/**'])
    const { run } = await start(scene)

    expect(await run('ls -A /usr/share/doc')).toBe('')
  })

  it('is refused with too many masks, and leaves no placeholder behind', async () => {
    const scene = await viewScene(user)
    scene.rule(['deny', 'read', `${scene.ws}/missing`, ...manyNames(scene, 2001)])

    await expect(scene.plan()).rejects.toThrow(/: 2002 that policy denies, and 1 g/)
    expect(exists(join(scene.ws, 'missing'))).toBe(false)
  })

  it('is refused while no policy is in force', async () => {
    const scene = await viewScene(user)
    const { active } = activePolicy()

    await expect(scene.plan([], { active })).rejects.toThrow(
      'no policy is in force (no_policy), so no sandbox can start',
    )
    scene.active.apply({ kind: 'second_enrolment' })
    await expect(scene.plan()).rejects.toThrow(/policy denies `read` .* \(no_policy\)/)
  })
})

function manyNames(scene: ViewScene, count: number): string[] {
  const names = Array.from({ length: count }, (_, index) => `keys/${index}`)
  put(scene, ...names)
  return names.map((name) => join(scene.ws, name))
}
