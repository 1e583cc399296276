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
import { describe, expect, it } from 'vitest'
import { endOf, untilPrinted } from '../fixture/machine.ts'
import { opened } from './opened-project.ts'
import { strictScene, verdicts, type StrictScene } from './strict-scene.ts'

const HIDE_ENV = ['deny', 'read', '/**/.env'] as const
const REPOSITORY = ['HEAD', 'config', 'objects/x', 'refs/x'].map((name) => `.git/${name}`)
/** The overlay may remember that a name was missing, but it lists names anew. */
const UNTIL_GO = 'until ls | grep -qx go; do sleep 0.02; done; '

/** Starts a line of shell in a strict sandbox; resolves once it has printed a line. */
async function startStrict(
  scene: StrictScene,
  line: string,
): Promise<{ readonly ended: ReturnType<typeof endOf> }> {
  const child = scene.start(['--strict', '--', 'sh', '-c', `echo ready; ${line}`])
  const ended = endOf(child)
  await untilPrinted(child)
  return { ended }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

/** Replaces a file as editors do. */
function saveAtomically(path: string, content: string): void {
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
}

describe('the view of a strict sandbox', () => {
  it('hides denied names, and lets the command have its own', async () => {
    const scene = await strictScene(HIDE_ENV, ['deny', 'read', '/**/secret/**'])
    scene.put('.env', 'a/.env', 'secret/x', 'plain')
    const line = 'ls -A . a; cat .env a/.env secret/x; echo own >.env; cat .env; cat plain; exit 0'
    const { stdout, code } = await scene.run(['--strict', '--', 'sh', '-c', line])
    expect(code).toBe(0)
    expect(stdout).toBe('.:\na\nplain\n\na:\nown\nplain')
    expect(readFileSync(scene.at('.env'), 'utf8')).toBe('.env')
  })

  it('shows a read-only workspace without its denied names', async () => {
    const scene = await strictScene(HIDE_ENV)
    scene.put('.env', 'plain')
    const line = 'ls -A; cat .env; echo x >new; echo end'
    const { stdout } = await scene.run(['--strict', '-w', '.:ro', '--', 'sh', '-c', line])
    expect(stdout).toBe('plain\nend\n')
    expect(readdirSync(scene.project).toSorted()).toEqual(['.env', 'plain'])
    expect(await scene.sandboxes.staged.list()).toEqual({ sessions: [] })
  })

  it('shows a file below which a rule denies a name', async () => {
    const machine = await strictScene(['deny', 'read', '/**/.env'])
    machine.put('a')
    machine.use(opened(machine.project, ['deny', 'read', machine.at('a/b')]))
    const { stdout } = await machine.run(['--strict', '--', 'cat', 'a'])
    expect(stdout).toBe('a')
  })

  it('case 79: hides other names of a denied file', async () => {
    const scene = await strictScene(HIDE_ENV)
    scene.put('.env')
    linkSync(scene.at('.env'), scene.at('alias'))
    const { stdout } = await scene.run(['--strict', '--', 'sh', '-c', 'ls -A; cat alias; echo end'])
    expect(stdout).toBe('end\n')
  })

  it('case 79: refuses a denied file with another name outside the workspaces', async () => {
    const scene = await strictScene(HIDE_ENV)
    scene.put('.env')
    linkSync(scene.at('.env'), join(scene.agentDir, '../alias'))
    const ended = await scene.run(['--strict', '--', 'true'])
    expect(ended.code).toBe(125)
    expect(ended.stderr).toMatch(/\.env` has 1 more names outside/)
    const { code } = await scene.run(['--', 'true'])
    expect(code).toBe(0)
  })

  it('case 84: never shows a denied file that a program outside saves 200 times', async () => {
    const scene = await strictScene(HIDE_ENV)
    scene.put('.env', 'a/.env')
    const poll = 'until ls | grep -qx go; do cat .env a/.env; done 2>/dev/null; echo end'
    const { ended } = await startStrict(scene, poll)
    const soak = async (): Promise<void> => {
      for (let count = 0; count < 200; count += 1) {
        for (const name of ['.env', 'a/.env']) saveAtomically(scene.at(name), `SECRET ${count}`)
        await pause(5)
      }
      writeFileSync(scene.at('go'), '')
    }
    await soak()
    expect((await ended).stdout).toBe('ready\nend\n')
  })

  it('case 85: never shows a denied directory that is moved and made again outside', async () => {
    const scene = await strictScene(['deny', 'read', '/**/secret/**'])
    scene.put('secret/x')
    const poll = 'until ls | grep -qx go; do cat secret/x; done 2>/dev/null; ls -A; echo end'
    const { ended } = await startStrict(scene, poll)
    for (let count = 0; count < 50; count += 1) {
      renameSync(scene.at('secret'), join(scene.agentDir, `old-${count}`))
      mkdirSync(scene.at('secret'))
      writeFileSync(scene.at('secret/x'), `SECRET ${count}`)
      await pause(5)
    }
    writeFileSync(scene.at('go'), '')
    expect((await ended).stdout).toBe('ready\ngo\nend\n')
  })

  it('hides a path that a new policy denies while the command runs', async () => {
    const scene = await strictScene()
    scene.put('late')
    const { ended } = await startStrict(
      scene,
      'while [ -s late ]; do sleep 0.02; done; cat late; echo end',
    )
    scene.use(opened(scene.project, ['deny', 'read', '/**/late']))
    expect((await ended).stdout).toBe('ready\nend\n')
  })

  it('hides a new file of a program outside that matches a wildcard', async () => {
    const scene = await strictScene(['deny', 'read', '/**/*.pem'])
    scene.put('a/plain')
    const untilHidden = 'while [ -s a/key.pem ]; do sleep 0.02; done;'
    const { ended } = await startStrict(scene, `${UNTIL_GO} ${untilHidden} cat a/key.pem; echo end`)
    writeFileSync(scene.at('a/key.pem'), 'SECRET')
    writeFileSync(scene.at('go'), '')
    expect((await ended).stdout).toBe('ready\nend\n')
  })

  it('goes on when the command has removed a path that a new policy denies', async () => {
    const scene = await strictScene()
    scene.put('late', 'other')
    const untilHidden = 'while [ -s other ]; do sleep 0.02; done;'
    const { ended } = await startStrict(scene, `rm -f late; ${untilHidden} cat late; echo end`)
    scene.use(opened(scene.project, ['deny', 'read', '/**/late', '/**/other']))
    expect(await ended).toMatchObject({ code: 0, stdout: 'ready\nend\n' })
  })

  it('does not follow a redirect that an earlier command left in the workspace', async () => {
    const scene = await strictScene(['deny', 'read', '/**/secret/**'])
    scene.put('secret/x', 'trap/y', 'gone/z')
    setAttribute(scene.at('trap'), 'user.overlay.redirect', 'secret')
    setAttribute(scene.at('gone'), 'user.overlay.opaque', 'y')
    const { stdout } = await scene.run([
      '--strict',
      '--',
      'sh',
      '-c',
      'cat trap/x; ls -R; echo end',
    ])
    expect(stdout).not.toContain('secret')
    expect(stdout.endsWith('end\n')).toBe(true)
  })

  it('keeps changes of the end of a link with a guarded name from being copied out', async () => {
    const scene = await strictScene()
    const { project } = scene
    scene.put('githooks/old', 'd/shared', 'd/x', ...REPOSITORY)
    symlinkSync('../githooks', scene.at('.git/hooks'))
    symlinkSync('../d/shared', scene.at('githooks/other'))
    symlinkSync('d/shared', scene.at('.envrc'))

    const line = 'echo x | tee githooks/post-commit githooks/old d/shared d/x; rm d/shared'
    const applied = await scene.apply(await scene.stage(line))
    expect(verdicts(applied, project)).toEqual({
      'githooks/old': 'refused',
      'githooks/post-commit': 'refused',
      'd/shared': 'refused',
      'd/x': 'applied',
    })
  })
})

function setAttribute(path: string, name: string, value: string): void {
  const program = 'syscall(188, $ARGV[0], $ARGV[1], $ARGV[2], length $ARGV[2], 0) == 0 or die $!'
  execFileSync('perl', ['-e', program, path, name, value])
}
