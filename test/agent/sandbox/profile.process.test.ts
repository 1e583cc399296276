import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundleClaims, policyOf } from '../fixture/bundle.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { startSandboxMachine, type SandboxMachine } from './fixture/machine.ts'

/** A machine that opens the project, with this profile file in it. */
async function machineWith(text: string): Promise<SandboxMachine> {
  const machine = await startSandboxMachine((project) =>
    bundleClaims({
      policies: [
        policyOf(
          ['allow', 'read', `${project}/**`, project],
          ['allow', 'write', `${project}/**`, project],
        ),
      ],
    }),
  )
  await writeFile(join(machine.project, '.palisade.yaml'), text)
  return machine
}

describe('palisade run --profile', () => {
  it('runs the command of the profile with its workspace and limits', async () => {
    const machine = await machineWith(
      "profiles: {a: {workspaces: ['.:ro'], limits: {files: 99}, " +
        'command: [sh, -c, "ulimit -n; echo x >new"]}}',
    )
    const ended = await machine.run(['--profile', 'a'])
    expect(ended.stdout).toBe('99\n')
    expect(ended.stderr).toContain(`palisade: profile a of ${machine.project}/.palisade.yaml: `)
    expect(existsSync(join(machine.project, 'new'))).toBe(false)
  })

  it('runs another command when the person names one', async () => {
    const machine = await machineWith('profiles: {a: {env: [HOME_OF_TEST], command: [ls]}}')
    const ended = await machine.run(['--profile', 'a', '--', 'echo', 'ran'])
    expect(ended).toMatchObject({ code: 0, stdout: 'ran\n' })
  })

  it('opens nothing that policy does not', async () => {
    const secrets = await temporaryDirectory()
    await writeFile(join(secrets, 'id'), 'SECRET')
    const command = `command: [cat, ${secrets}/id]`
    const text = `profiles: {a: {workspaces: ['.', '${secrets}:ro'], ${command}}}`
    const ended = await (await machineWith(text)).run(['--profile', 'a'])
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain('`read`')
  })

  it('cannot be rewritten by a command inside', async () => {
    const text = 'profiles: {a: {command: [true]}}\n'
    const machine = await machineWith(text)
    const script =
      'echo >>.palisade.yaml; rm -f .palisade.yaml; echo x >new; mv new .palisade.yaml; ' +
      'mkdir sub; echo end'
    const { stdout } = await machine.run(['--', 'sh', '-c', script])
    expect(stdout).toBe('end\n')
    expect(await readFile(join(machine.project, '.palisade.yaml'), 'utf8')).toBe(text)
  })

  it.each([
    [['--profile', 'b', '--', 'true'], 'has no profile `b`; it has a'],
    [['--profile', '--', 'true'], 'name a profile of'],
    [[], 'no command is named'],
    [['--profile', 'a'], 'no command is named'],
    [['--limit', 'cpu=1', '--', 'true'], '`cpu` is no limit'],
  ])('refuses %j', async (words, problem) => {
    const machine = await machineWith('profiles: {a: {}}')
    const ended = await machine.run(words)
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain(problem)
  })

  it('refuses a broken file by the place of each fault, and starts nothing', async () => {
    const machine = await machineWith('profiles:\n  a:\n    run: x\n    env: [LD_PRELOAD]\n')
    const ended = await machine.run(['--profile', 'a', '--', 'true'])
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toMatch(/\.palisade\.yaml:3:5: unknown member `run`/)
    expect(ended.stderr).toMatch(/\.palisade\.yaml:4:11: a profile cannot pass `LD_PRELOAD`/)
  })

  it('finds the file of the repository from a directory below', async () => {
    const machine = await machineWith("profiles: {a: {workspaces: ['.'], command: [pwd]}}")
    const below = join(machine.project, 'packages/one')
    await mkdir(below, { recursive: true })
    await mkdir(join(machine.project, '.git'))
    expect((await machine.run(['--profile', 'a'], below)).stdout).toBe(`${below}\n`)
  })
})
