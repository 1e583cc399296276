import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startSandboxMachine, type SandboxMachine } from './fixture/machine.ts'
import { opened } from './staged/opened-project.ts'

const SHELL = ['--', 'sh', '-c'] as const
const HOOK = '#!/bin/sh\n'
/** A hook that shows outside that it ran. */
const EVIL = String.raw`printf '#!/bin/sh\ntouch "$(git rev-parse --show-toplevel)/ran"\n'`

/** Lines that write such a hook into the next directory, and settings that lead to it. */
const MAKE = `at() { ${EVIL} > $1/pre-commit; chmod +x $1/pre-commit; }; at`
const LEAD = String.raw`printf '[core]\n hooksPath = mine\n'`

/** Runs git outside, in the project, with the settings of the person. */
function git({ home, project }: SandboxMachine, ...args: readonly string[]): void {
  const env = { PATH: process.env['PATH'], HOME: home }
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@b.c']
  const { status, stderr } = spawnSync('git', [...author, ...args], { cwd: project, env })
  if (status !== 0) throw new Error(String(stderr))
}

async function writeHook(machine: SandboxMachine, directory: string): Promise<void> {
  await mkdir(join(machine.project, directory), { recursive: true })
  await writeFile(join(machine.project, directory, 'pre-commit'), HOOK, { mode: 0o755 })
}

/** A repository whose settings name hooks and further settings in its working tree. */
async function startMachine(): Promise<SandboxMachine> {
  const machine = await startSandboxMachine(opened)
  const { project } = machine
  git(machine, 'init', '-q')
  await writeHook(machine, '.githooks')
  await writeFile(join(project, '.gitconfig'), '[core]\n\thooksPath = .githooks\n')
  git(machine, 'config', 'include.path', '../.gitconfig')
  return machine
}

/** Whether a commit of the person runs the hook of a command. */
function runsHook(machine: SandboxMachine): boolean {
  git(machine, 'commit', '-q', '--allow-empty', '-m', 'outside')
  return existsSync(join(machine.project, 'ran'))
}

describe('a command in a sandbox', () => {
  it.each([
    ['writes a hook', `${EVIL} > .githooks/pre-commit`],
    ['puts another directory in place', `mv .githooks x; mkdir .githooks; ${MAKE} .githooks`],
    ['writes included settings', `mkdir mine; ${MAKE} mine; ${LEAD} > .gitconfig`],
    ['replaces included settings', `mkdir mine; ${MAKE} mine; ${LEAD} > y; mv y .gitconfig`],
  ])('has no hook run outside that %s', async (_how, line) => {
    const machine = await startMachine()
    const { project } = machine
    await mkdir(join(project, 'a/b'), { recursive: true })
    const before = readdirSync(join(project, '.githooks'))
    const words = ['--workspace', project, ...SHELL, `cd ${project}; ${line}; echo end`]

    const { stdout } = await machine.run(words, join(project, 'a/b'))

    expect(stdout).toBe('end\n')
    expect(runsHook(machine)).toBe(false)
    expect(readFileSync(join(project, '.githooks/pre-commit'), 'utf8')).toBe(HOOK)
    expect(readdirSync(join(project, '.githooks'))).toEqual(before)
  })

  it('leaves no hook and no included settings that were not there', async () => {
    const machine = await startSandboxMachine(opened)
    const { home, project } = machine
    git(machine, 'init', '-q')
    git(machine, 'config', 'includeIf.onbranch:main.path', join(project, 'late.conf'))
    await writeFile(join(home, '.gitconfig'), '[core]\n\thooksPath = tools/hooks\n')
    const line =
      `mkdir -p tools/hooks; ${EVIL} > tools/hooks/pre-commit; chmod +x tools/hooks/pre-commit; ` +
      'echo x > late.conf'

    const { stderr } = await machine.run([...SHELL, line])

    expect(runsHook(machine)).toBe(false)
    expect(existsSync(join(project, 'late.conf'))).toBe(false)
    expect(stderr).toContain('`hooks.refused-by-palisade` (programs outside obey it)')
    expect(stderr).toContain('`late.conf.refused-by-palisade` (programs outside obey it)')
  })

  it.each([
    `${EVIL} > tools/hooks/pre-commit`,
    `mkdir -p o/hooks; ${MAKE} o/hooks; rm link; ln -s o link`,
    `mv tools t; mkdir -p tools/hooks; ${MAKE} tools/hooks`,
    `mv tools t; mkdir -p o/hooks; ${MAKE} o/hooks; ln -s o tools`,
  ])('writes no hook behind symbolic links: %s', async (line) => {
    const machine = await startSandboxMachine(opened)
    git(machine, 'init', '-q')
    await writeHook(machine, 'tools/hooks')
    await symlink('tools', join(machine.project, 'link'))
    git(machine, 'config', 'core.hooksPath', 'link/hooks')

    await machine.run([...SHELL, line])

    expect(runsHook(machine)).toBe(false)
  })

  it('writes the hooks that a rule opens by their name', async () => {
    const machine = await startMachine()
    machine.use(
      opened(machine.project, ['allow', 'write', `${machine.project}/.githooks/**`] as const),
    )

    await machine.run([...SHELL, `${EVIL} > .githooks/pre-commit`])

    expect(runsHook(machine)).toBe(true)
  })

  it.each([[[]], [['--strict']]])(
    'with %j comes with a warning for hooks at its top',
    async (how) => {
      const machine = await startSandboxMachine(opened)
      git(machine, 'init', '-q')
      git(machine, 'config', 'core.hooksPath', machine.project)

      const { stderr } = await machine.run([...how, ...SHELL, 'true'])

      expect(stderr).toBe(
        `palisade: git outside obeys files of the workspace \`${machine.project}\` itself, which ` +
          'the command can change; change `core.hooksPath` or `include.path`\n',
      )
    },
  )

  it.each([
    `${EVIL} > .githooks/pre-commit`,
    `mkdir o; ${MAKE} o; mv .githooks x; ln -s o .githooks`,
  ])('has such changes refused at the review of a strict sandbox: %s', async (line) => {
    const machine = await startMachine()

    await machine.run(['--strict', '--apply', ...SHELL, `${line}; echo > free`])

    expect(runsHook(machine)).toBe(false)
    expect(existsSync(join(machine.project, 'free'))).toBe(true)
  })
})
