import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { testUsers } from '../fixture/bubblewrap.ts'
import { endOf, untilPrinted, type Ended } from '../fixture/machine.ts'
import { startUserMachine, type UserMachine } from '../fixture/machine-process.ts'
import { attackBundle } from '../fixture/sandbox-attack.ts'

const SECRET = 'of a program outside'
const READ_ALL = ['--', 'grep', '-rsa', 'of a program', '.']
const NOTHING = 1

/** A project with an empty directory `d`, below which a rule denies to read each `key`. */
async function startMachine(user: Parameters<typeof startUserMachine>[0]): Promise<UserMachine> {
  const machine = await startUserMachine(user, {
    bundle: (project) =>
      attackBundle(project, [
        ['deny', 'read', `${project}/d/**/key`, '/**/*.pem', `${project}/*/.env`],
        ['deny', 'write', `${project}/*/.env`],
      ]),
  })
  make(machine, 'd')
  return machine
}

function make({ give, project }: UserMachine, name: string): void {
  mkdirSync(join(project, name))
  give(join(project, name))
}

/** Saves as editors do. */
function save({ give, project }: UserMachine, name: string): void {
  const draft = join(project, 'draft~')
  writeFileSync(draft, SECRET)
  give(draft)
  renameSync(draft, join(project, name))
}

function saveKey(machine: UserMachine): void {
  make(machine, 'd/keys')
  save(machine, 'd/keys/key')
}

/** Runs a command that waits until a program outside has saved a file, and this has a mask. */
async function runBeside(
  machine: UserMachine,
  line: string,
  act: (machine: UserMachine) => Promise<void> | void = saveKey,
): Promise<Ended> {
  const wait = 'echo ready; until [ -e d/keys/key ] && ! [ -s d/keys/key ]; do sleep 0.05; done; '
  const child = machine.start(['--', 'sh', '-c', `${wait} ${line}`])
  const ended = endOf(child)
  await untilPrinted(child)
  await act(machine)
  return ended
}

describe.each(testUsers())('a secret that a program outside saves beside a run of %s', (user) => {
  it.each([
    ['renames its directory', 'mv d e', 'e/keys/key'],
    ['leaves a link there', 'mv d e; ln -s e d', 'e/keys/key'],
    ['makes another one there', 'mv d e; mkdir -p d/keys; echo x >d/keys/key', 'e/keys/key'],
    ['moves it away and on', 'mv d e; sleep 0.3; mv e f; mkdir g; mv f g/h', 'g/h/keys/key'],
    [
      'moves it in many steps',
      'for n in 1 2 3 4 5 6 7 8 9; do mv d e; mv e d; done; mv d e',
      'e/keys/key',
    ],
  ])('stays hidden from later runs when the command %s', async (_, line, path) => {
    const machine = await startMachine(user)

    const { code, stderr } = await runBeside(machine, line)
    const next = await machine.run(READ_ALL)
    const readOnly = await machine.run(['--workspace', `${machine.project}:ro`, ...READ_ALL])
    const again = await machine.run([
      '--',
      'sh',
      '-c',
      `mv ${path.split('/')[0]} z; cat z/keys/key`,
    ])

    expect([code, stderr]).toEqual([0, ''])
    expect(next.stderr).toMatch(/key` is hidden: a rule denied `.*\/d\/keys\/key`, from where/)
    expect([next.code, next.stdout, readOnly.code, readOnly.stdout]).toEqual([
      NOTHING,
      '',
      NOTHING,
      '',
    ])
    expect(again.stdout).toBe('')
    expect(readFileSync(join(machine.project, path), 'utf8')).toBe(SECRET)
  })

  it('stays hidden when its directory lets nobody look for a while', async () => {
    const machine = await startMachine(user)
    const open = ['--', 'sh', '-c', 'chmod -R u+rwX e; grep -rsa "of a program" .']

    await runBeside(machine, 'mv d e; chmod 0444 e/keys')
    const closed = await machine.run(open)
    chmodSync(join(machine.project, 'e/keys'), 0o755)
    const opened = await machine.run(open)

    expect([closed.stdout, opened.code, opened.stdout]).toEqual(['', NOTHING, ''])
  })

  it('stays hidden from the whole workspace when it was moved out of an inner one', async () => {
    const machine = await startMachine(user)
    const cwd = join(machine.project, 'd')
    const wait = 'echo ready; until [ -e keys/key ] && ! [ -s keys/key ]; do sleep 0.05; done'
    const inner = machine.start(['--workspace', cwd, '--', 'sh', '-c', wait], { cwd })
    const ended = endOf(inner)
    await untilPrinted(inner)

    await runBeside(machine, 'sleep 0.5; mv d/keys e; mkdir d/keys')
    await ended
    const within = await machine.run(['--workspace', cwd, '--', 'true'], { cwd })
    const next = await machine.run(READ_ALL)

    expect([within.code, next.code, next.stdout]).toEqual([0, NOTHING, ''])
  })

  it('stays hidden when a program outside made its directory anew', async () => {
    const machine = await startMachine(user)
    saveKey(machine)

    const line = 'until [ -e go ]; do sleep 0.05; done; sleep 1; mv d e'
    const ended = await runBeside(machine, line, async ({ project }) => {
      rmSync(join(project, 'd'), { recursive: true })
      // The guard sees that it is gone, and forgets the pins.
      await setTimeout(300)
      make(machine, 'd')
      saveKey(machine)
      save(machine, 'go')
    })
    const next = await machine.run(['--', 'grep', '-rsa', 'of a program', 'e'])

    expect([ended.code, next.code, next.stdout]).toEqual([0, NOTHING, ''])
    expect(readFileSync(join(machine.project, 'e/keys/key'), 'utf8')).toBe(SECRET)
  })

  it('does not hide another file that takes its place', async () => {
    const machine = await startMachine(user)
    const { project } = machine

    await runBeside(machine, 'mv d e')
    expect((await machine.run(['--', 'cat', 'e/keys/key'])).stdout).toBe('')
    rmSync(join(project, 'e/keys/key'))
    save(machine, 'e/keys/key')
    const replaced = await machine.run(['--', 'cat', 'e/keys/key'])

    expect(replaced.stdout).toBe(SECRET)
  })

  it('is hidden from a sandbox that runs and sees only the new directory', async () => {
    const machine = await startMachine(user)
    make(machine, 'e')
    const line =
      'echo ready; until [ -e d/keys/key ]; do sleep 0.02; done; sleep 0.5; cat d/keys/key'
    const cwd = join(machine.project, 'e')
    const other = machine.start(['--workspace', cwd, '--', 'sh', '-c', line], { cwd })
    const ended = endOf(other)
    await untilPrinted(other)

    await runBeside(machine, 'mv d e; sleep 1')

    expect((await ended).stdout).toBe('ready\n')
  })

  it('is not looked for once its command has left it in place', async () => {
    const machine = await startMachine(user)

    const { code, stderr } = await runBeside(machine, 'mv d/keys/key x; mkdir d/e; sleep 0.5')
    await setTimeout(200)
    const list = readFileSync(join(machine.agentDir, 'hidden-objects.json'), 'utf8')

    expect([code, stderr, list]).toEqual([0, expect.stringMatching(/^mv: .*busy\n$/), '[]'])
  })

  it('stays hidden under the name that it got because the command must not leave it', async () => {
    const machine = await startMachine(user)

    const made = await machine.run([
      '--',
      'sh',
      '-c',
      `echo '${SECRET}' > d/.env; sleep 0.5; mv d e`,
    ])
    const aside = readFileSync(join(machine.project, 'e/.env.hidden-by-palisade'), 'utf8')
    const next = await machine.run(READ_ALL)
    const readOnly = await machine.run(['--workspace', `${machine.project}:ro`, ...READ_ALL])

    expect(made.stderr).toContain('.env.hidden-by-palisade')
    expect(aside).toBe(`${SECRET}\n`)
    expect([next.code, next.stdout, readOnly.code, readOnly.stdout]).toEqual([
      NOTHING,
      '',
      NOTHING,
      '',
    ])
  })
})
