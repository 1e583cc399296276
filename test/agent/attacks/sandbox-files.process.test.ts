import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RuleLine } from '../fixture/bundle.ts'
import { testUsers } from '../sandbox/fixture/bubblewrap.ts'
import { endOf, untilPrinted } from '../sandbox/fixture/machine.ts'
import { startUserMachine, type UserMachine } from '../sandbox/fixture/machine-process.ts'
import { attackBundle, machineOfGroup, put, runProbes } from '../sandbox/fixture/sandbox-attack.ts'

const SHELL = ['--', 'sh', '-c'] as const
const HIDDEN: RuleLine = ['deny', 'read', '/**/.env']

/** The rules of the group. */
function rules(project: string): readonly RuleLine[] {
  return [
    HIDDEN,
    ['deny', 'read', `${project}/secret/**`, `${project}/d/*b`, `${project}/d/\u00e9`],
    ['deny', 'write', '/**/fixed.txt', `${project}/later/absent.yaml`],
  ]
}

function makeDirectory(machine: UserMachine, name: string): string {
  const path = join(machine.project, name)
  mkdirSync(path, { recursive: true })
  machine.give(path)
  return path
}

/** Links `path` to `target` although a starting sandbox makes empty mount points where none is. */
function linkOver(path: string, target: string): void {
  for (;;) {
    try {
      return symlinkSync(target, path)
    } catch {
      rmdirSync(path)
    }
  }
}

function fill(machine: UserMachine): void {
  const { project, folder } = machine
  for (const name of ['secret', 'd', 'a', '.git', '.git/hooks', 'later'])
    makeDirectory(machine, name)
  for (const name of ['.env', 'a/.env', 'secret/key', 'fixed.txt', 'ok.txt', 'd/a\nb', 'd/*'])
    put(machine, name, `content of ${name}\n`)
  for (const name of ['d/\u00e9', 'd/e\u0301', `d/${'n'.repeat(255)}`, '.git/config'])
    put(machine, name, `content of ${name}\n`)
  linkSync(join(project, '.env'), join(project, 'alias'))
  symlinkSync('secret/key', join(project, 'to-denied'))
  symlinkSync(join(folder, 'outside'), join(project, 'to-outside'))
  writeFileSync(join(folder, 'outside'), 'OUTSIDE')
  execFileSync('mkfifo', ['-m', '666', join(project, 'fifo')])
}

const PROBES = {
  allowed: 'cat ok.txt; echo made >new.txt; cat new.txt',
  links: 'cat to-denied to-outside',
  above: 'cat ../outside; ls -A /proc/self/cwd/.. /proc/1/root/proc/1/cwd/../..',
  'hard link': 'cat alias .env',
  'new link': 'ln /etc/hosts x1; ln .env x2; ln fixed.txt x3; cat x1 x2 x3',
  rename:
    'mv .env y; mv -f ok.txt .env; rm -f .env; mv secret z; rm -rf a; mv a b; cat b/.env; ' +
    'mv d/\u00e9 q',
  placeholder: 'echo EVIL >later/absent.yaml; mkdir -p later/absent.yaml; mv later l2',
  mounts:
    'for c in "umount .env" "umount -l ." "mount -o remount,rw /usr" "mount -o ' +
    'remount,rw,bind /usr"' +
    ' "mount --move .env /tmp" "mount -t tmpfs t /tmp" "mount --bind /tmp /usr"; do ' +
    '$c 2>/dev/null && echo "done: $c"; done; echo tried',
  write:
    'echo y >fixed.txt; echo y >>fixed.txt; truncate -s 0 fixed.txt; chmod 777 fixed.txt; ' +
    'touch -d 2001-01-01 fixed.txt; cp --reflink=auto ok.txt fixed.txt; ' +
    'dd if=ok.txt of=fixed.txt conv=notrunc 2>&1; ln -f ok.txt fixed.txt; ' +
    'mv -f ok.txt fixed.txt; ' +
    'perl -e \'open(F,"+<","fixed.txt") or die "$!\\n"\'; ' +
    'perl -e \'sysopen(F,".",020200000|1,0600) and print "tmpfile\\n"; ' +
    'link("/proc/self/fd/".fileno(F),"fixed.txt") and print "linked\\n"\'; cat fixed.txt',
  hidden: 'echo x >secret/y; mkdir secret/z; echo x >secret/key; ls -A secret',
  names: 'cat d/a*b d/\u00e9; cat d/\\* d/e\u0301 d/nnn*',
  planted:
    'echo x >.git/hooks/pre-commit; echo x >.git/config; echo x >.git/config.worktree; ' +
    'mkdir .git/info/x; mv .git .git2; rmdir .git/info; cat .git/config',
  special: 'ls -l fifo; mknod dev b 8 0; mknod dev c 1 1; cat dev',
} as const

describe.each(testUsers())('the files of a sandbox of %s', (user) => {
  const scene = machineOfGroup(
    user,
    (project) => attackBundle(project, rules(project)),
    async (machine) => {
      fill(machine)
      return runProbes(machine, PROBES)
    },
  )
  const outputOf = (name: keyof typeof PROBES): string => scene().found[name].output
  const readOutside = (name: string): string =>
    readFileSync(join(scene().machine.project, name), 'utf8')

  it('case 77: leads no link to a denied or an absent path', () => {
    expect(outputOf('allowed')).toBe('content of ok.txt\nmade')
    expect(outputOf('links')).toMatch(/^cat: to-denied: No such file.*\ncat: to-outside: No such/)
  })

  it('case 78: ends above the workspace', () => {
    const output = outputOf('above')
    expect(output).toContain('No such file')
    expect(output).not.toMatch(/OUTSIDE|outside$|^agent$/m)
  })

  it('case 79: hides the other names of a denied file', () => {
    expect(outputOf('hard link')).toBe('')
    expect(readOutside('alias')).toBe('content of .env\n')
  })

  it('case 80: makes no hard link to a path outside or to a denied file', () => {
    expect(outputOf('new link').match(/cross-device|not permitted/gi)).toHaveLength(3)
    expect(outputOf('new link')).not.toContain('content')
  })

  it('case 81: keeps a denied name from being renamed, replaced or removed', () => {
    expect(outputOf('rename').match(/busy/g)?.length).toBeGreaterThanOrEqual(6)
    expect(outputOf('rename')).not.toContain('content')
    for (const name of ['.env', 'a/.env', 'secret/key', 'd/\u00e9'])
      expect(readOutside(name)).toBe(`content of ${name}\n`)
  })

  it('case 83: keeps a denied name that does not exist from being made', () => {
    expect(outputOf('placeholder')).toMatch(/Read-only|denied/)
    expect(outputOf('placeholder')).toContain('busy')
    expect(existsSync(join(scene().machine.project, 'l2'))).toBe(false)
  })

  it('case 86: lets no mount be removed, changed or moved', () => {
    expect(outputOf('mounts')).toBe('tried')
  })

  it('case 87: lets no call write through a read-only name', () => {
    const output = outputOf('write')
    expect(output.match(/Read-only file system/g)?.length).toBeGreaterThanOrEqual(7)
    expect(output).not.toContain('linked')
    expect(output.endsWith('content of fixed.txt')).toBe(true)
    expect(readOutside('fixed.txt')).toBe('content of fixed.txt\n')
  })

  it('case 88: lets no file be written into a hidden directory', () => {
    expect(outputOf('hidden').match(/Read-only file system/g)).toHaveLength(3)
    expect(readdirSync(join(scene().machine.project, 'secret'))).toEqual(['key'])
  })

  it('case 90: takes names as bytes, with newlines, stars, accents and 255 bytes', () => {
    expect(outputOf('names')).toBe(
      `content of d/*\ncontent of d/e\u0301\ncontent of d/${'n'.repeat(255)}`,
    )
  })

  it('case 92: lets no hook or setting for programs outside be planted', () => {
    const output = outputOf('planted')
    expect(output.match(/Read-only file system/g)).toHaveLength(4)
    expect(output.match(/busy/g)?.length).toBeGreaterThanOrEqual(2)
    expect(output.endsWith('content of .git/config')).toBe(true)
  })

  it('case 93: starts beside a FIFO, and makes no device', () => {
    expect(outputOf('special')).toMatch(/^prw.*\n[^]*not permitted[^]*No such file/)
  })
})

describe.each(testUsers())('the workspaces of a sandbox of %s', (user) => {
  const scene = machineOfGroup(
    user,
    (project) => attackBundle(project),
    async () => null,
  )
  const refusal = async (workspace: string, text: string): Promise<void> => {
    const { machine } = scene()
    const ended = await machine.run(['--workspace', workspace, ...SHELL, 'echo ran'])
    expect([workspace, ended.code, ended.stdout]).toEqual([workspace, 125, ''])
    expect(ended.stderr).toContain(text)
  }

  it('case 74: are judged by their real paths', async () => {
    const { machine } = scene()
    const sub = makeDirectory(machine, 'sub')
    const other = join(machine.folder, 'other')
    mkdirSync(other)
    machine.give(other)
    symlinkSync(sub, join(machine.project, 'to-sub'))
    symlinkSync(other, join(machine.project, 'to-other'))
    for (const path of [`${sub}/`, join(machine.project, 'to-sub'), `${sub}/../sub/.`]) {
      const ended = await machine.run(['--workspace', path, ...SHELL, 'pwd -P'], { cwd: sub })
      expect(ended).toMatchObject({ code: 0, stdout: `${sub}\n` })
    }
    await refusal(join(machine.project, 'to-other'), other)
    await refusal(`${sub}/../../other`, other)
    await refusal(machine.project.toUpperCase(), 'does not exist')
  })

  it('case 75: are never the root, the home or the agent, nor above or below it', async () => {
    const { machine } = scene()
    for (const path of ['/', machine.folder, machine.agentDir, join(machine.agentDir, 'records')])
      await refusal(path, 'workspace')
    if (user === 'root') await refusal('/root', 'sandbox must not see')
  })

  it('case 76: are the directories that were checked, also when one is swapped', async () => {
    const { machine } = scene()
    const [ws, kept, other] = ['ws', 'kept', '../swapped'].map((name) =>
      join(machine.project, name),
    ) as [string, string, string]
    makeDirectory(machine, 'ws')
    put(machine, 'ws/marker', 'MINE')
    mkdirSync(other)
    writeFileSync(join(other, 'marker'), 'FOREIGN')
    const over = new AbortController()
    const swap = async (): Promise<void> => {
      while (!over.signal.aborted) {
        renameSync(ws, kept)
        linkOver(ws, other)
        await new Promise((resolve) => setImmediate(resolve))
        rmSync(ws)
        renameSync(kept, ws)
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 3))
      }
    }
    const words = ['--workspace', machine.project, '--workspace', ws, ...SHELL, 'cat ws/marker']
    const swapping = swap()
    for (let round = 0; round < 6; round += 1) {
      const { stdout } = await machine.run(words)
      expect(['MINE', '']).toContain(stdout)
    }
    over.abort()
    await swapping
    expect((await machine.run(words)).stdout).toBe('MINE')
  })

  it('case 89: are not writable by a rule that allows to read', async () => {
    const { machine } = scene()
    await machine.use(
      attackBundle(machine.project, [['allow', 'read', `${machine.folder}/reading/**`]]),
    )
    const reading = join(machine.folder, 'reading')
    mkdirSync(reading)
    machine.give(reading)
    await refusal(reading, '`write`')
    const ended = await machine.run(['--workspace', `${reading}:ro`, ...SHELL, 'echo x >x'], {
      cwd: reading,
    })
    expect(ended.code).not.toBe(125)
    expect(ended.stderr).toContain('Read-only file system')
  })

  it('case 91: are refused when their denies cannot be held', async () => {
    const { machine } = scene()
    await machine.use(attackBundle(machine.project, [HIDDEN]))
    for (let at = 0; at < 1_001; at += 1) {
      makeDirectory(machine, `many/${at}`)
      put(machine, `many/${at}/.env`, '')
    }
    // With the directories above, which keep their names.
    await refusal(machine.project, 'at most 2000')
    rmSync(join(machine.project, 'many'), { recursive: true })
    if (user === 'root') return
    const closed = makeDirectory(machine, 'closed')
    chmodSync(closed, 0)
    await refusal(machine.project, closed)
    chmodSync(closed, 0o700)
  })
})

describe.each(testUsers())('the live files of a sandbox of %s', (user) => {
  /** Prints `ready`, waits for the file `go`, and then until the command is true. */
  const afterGo = (line: string, until: string): string =>
    `echo ready; while [ ! -e go ]; do sleep 0.05; done; ${line}; ` +
    `until ${until}; do sleep 0.02; done; echo held; cat .env sub/.env 2>/dev/null; echo end`

  const runAround = async (script: string, outside: (machine: UserMachine) => void) => {
    const machine = await startUserMachine(user, {
      bundle: (project) => attackBundle(project, [HIDDEN, ['deny', 'read', `${project}/box/**`]]),
    })
    makeDirectory(machine, 'sub')
    makeDirectory(machine, 'box')
    for (const name of ['.env', 'ok.txt', 'box/key']) put(machine, name, 'FIRST\n')
    const child = machine.start([...SHELL, script])
    const ended = endOf(child)
    await untilPrinted(child)
    outside(machine)
    put(machine, 'go', '')
    return { machine, ended: await ended }
  }

  it('case 82: hides a file that the command renames to a denied name', async () => {
    const script = afterGo('mv ok.txt sub/.env', '[ ! -s sub/.env ]')
    const { machine, ended } = await runAround(script, () => {})
    expect(ended.stdout).toBe('ready\nheld\nend\n')
    expect(readFileSync(join(machine.project, 'sub/.env'), 'utf8')).toBe('FIRST\n')
  })

  it('case 84: hides a file again that a program outside saves atomically', async () => {
    const script = afterGo('true', '[ ! -s .env ]')
    const { ended } = await runAround(script, (machine) => {
      put(machine, '.env.new', 'SECOND\n')
      renameSync(join(machine.project, '.env.new'), join(machine.project, '.env'))
    })
    expect(ended.stdout).toBe('ready\nheld\nend\n')
  })

  it('case 85: hides a directory again that a program outside makes anew', async () => {
    const script = afterGo('true', '[ -z "$(ls -A box)" ]')
    const { ended } = await runAround(script, (machine) => {
      renameSync(join(machine.project, 'box'), join(machine.folder, 'moved'))
      makeDirectory(machine, 'box')
      put(machine, 'box/key', 'SECOND\n')
    })
    expect(ended.stdout).toBe('ready\nheld\nend\n')
  })

  it('case 94: removes its own placeholders only', async () => {
    const machine = await startUserMachine(user, {
      bundle: (project) =>
        attackBundle(project, [['deny', 'write', `${project}/mine.yaml`, `${project}/real.yaml`]]),
    })
    const child = machine.start([...SHELL, 'echo ready; while [ ! -e go ]; do sleep 0.05; done'])
    const ended = endOf(child)
    await untilPrinted(child)
    expect(readdirSync(machine.project)).toEqual(expect.arrayContaining(['mine.yaml', 'real.yaml']))
    put(machine, 'draft', 'REAL')
    renameSync(join(machine.project, 'draft'), join(machine.project, 'real.yaml'))
    put(machine, 'go', '')
    await ended
    await expect.poll(async () => (await machine.look()).sandboxes).toBe(0)
    expect(readdirSync(machine.project).toSorted()).toEqual(['go', 'real.yaml'])
    expect(readFileSync(join(machine.project, 'real.yaml'), 'utf8')).toBe('REAL')
  })

  it('case 100: shows no hidden file during a flood of policy changes', async () => {
    const machine = await startUserMachine(user, {
      bundle: (project) => attackBundle(project, [HIDDEN]),
    })
    put(machine, '.env', 'SECRET\n')
    const script = 'echo ready; while [ ! -e go ]; do cat .env; done; echo end'
    const child = machine.start([...SHELL, script])
    const ended = endOf(child)
    await untilPrinted(child)
    for (let revision = 8; revision < 108; revision += 1) {
      const other: RuleLine = ['deny', 'read', `${machine.project}/other-${revision}`]
      await machine.use({ ...attackBundle(machine.project, [HIDDEN, other]), revision })
    }
    put(machine, 'go', '')
    expect((await ended).stdout).toBe('ready\nend\n')
  })
})
