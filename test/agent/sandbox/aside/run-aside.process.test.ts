import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { attackBundle } from '../fixture/sandbox-attack.ts'
import { testUsers } from '../fixture/bubblewrap.ts'
import { endOf, untilPrinted } from '../fixture/machine.ts'
import { startUserMachine, type UserMachine } from '../fixture/machine-process.ts'

const SHELL = ['--', 'sh', '-c'] as const

/** A project with a repository, in which a rule names a file that does not exist. */
async function startMachine(user: Parameters<typeof startUserMachine>[0]): Promise<UserMachine> {
  const machine = await startUserMachine(user, {
    bundle: (project) =>
      attackBundle(project, [
        ['deny', 'read', `${project}/secret.txt`],
        ['deny', 'write', `${project}/**/fixed.txt`],
      ]),
  })
  const { give, project } = machine
  for (const name of ['.git', '.git/objects', '.git/refs', 'a'])
    give((mkdirSync(join(project, name)), join(project, name)))
  for (const name of ['.git/HEAD', '.git/config', 'a/x'])
    give((writeFileSync(join(project, name), 'ref: refs/heads/main\n'), join(project, name)))
  return machine
}

function namesIn(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted()
}

describe.each(testUsers())('a run of %s', (user) => {
  it('leaves the directory as it was when it returns, and shows little before', async () => {
    const machine = await startMachine(user)
    const before = namesIn(machine.project)

    const child = machine.start([...SHELL, 'echo ready; sleep 3'])
    const ended = endOf(child)
    await untilPrinted(child)
    const during = namesIn(machine.project).filter((name) => !before.includes(name))
    const { code, stderr } = await ended

    expect(namesIn(machine.project)).toEqual(before)
    expect([code, stderr]).toEqual([0, ''])
    expect(during).toEqual(['.git/config.worktree', '.git/hooks', '.git/info', 'secret.txt'])
  })

  it('names what the command made and must not leave, with the rule', async () => {
    const machine = await startMachine(user)
    const { project } = machine

    const line =
      'echo x > .mcp.json; echo y > a/fixed.txt; mkdir n; echo z > n/.envrc; ' +
      'git init --quiet r; exit 3'
    const { code, stderr } = await machine.run([...SHELL, line])

    expect(code).toBe(3)
    const lines = stderr.trimEnd().split('\n')
    expect(lines[0]).toBe(
      'palisade: the command, or a program outside, made 4 names that the command must not ' +
        'leave, kept aside for you to read:',
    )
    const aside = (name: string, why: string): string =>
      `palisade:   \`${project}/${name}\` → \`${basename(name)}.refused-by-palisade\` (${why})`
    expect(lines.slice(1, -1).toSorted()).toEqual(
      [
        aside('.mcp.json', 'programs outside obey it'),
        aside('a/fixed.txt', 'rule `Rule 4` of policy `Rules of the test`'),
        aside('n/.envrc', 'programs outside obey it'),
        aside('r/.git/config', 'git outside obeys it'),
      ].toSorted(),
    )
    expect(lines.at(-1)).toMatch(/spells a guarded name opens it, and `--strict` keeps all changes/)
    const { events } = await machine.look()
    const records = events
      .filter(({ protocol }) => protocol === 'file')
      .map(({ decision }) => decision)
    expect(records).toHaveLength(4)
    expect(records).toContainEqual(
      expect.objectContaining({
        decision: 'deny',
        reason: 'default_deny',
        request: { action: 'write', path: `${project}/.mcp.json` },
        hint: `allow write ${project}/.mcp.json`,
      }),
    )
    expect(records).toContainEqual(
      expect.objectContaining({
        reason: 'rule',
        request: { action: 'write', path: `${project}/a/fixed.txt` },
      }),
    )
  })

  it.each([
    ['before the agent has seen it', 'chmod 0 a; sleep 0.3'],
    ['after the agent has seen it', 'sleep 0.3; chmod 0 a'],
    ['with the directory above', 'chmod 0 a .'],
  ])('finds names in a directory that the command has closed, %s', async (_name, line) => {
    const machine = await startMachine(user)
    const { project } = machine

    const made = 'mkdir a/n; echo z > a/n/.envrc; git init --quiet a/r; echo x > a/fixed.txt'
    const { stderr } = await machine.run([...SHELL, `${made}; ${line}`])

    expect(stderr).not.toContain('could not be checked')
    chmodSync(project, 0o755)
    expect(statSync(join(project, 'a')).mode & 0o777).toBe(0)
    chmodSync(join(project, 'a'), 0o755)
    expect(namesIn(join(project, 'a/n'))).toEqual(['.envrc.refused-by-palisade'])
    expect(namesIn(join(project, 'a/r/.git'))).not.toContain('config')
    expect(namesIn(join(project, 'a'))).not.toContain('fixed.txt')
  })

  it('that is killed leaves no name either', async () => {
    const machine = await startMachine(user)
    const before = namesIn(machine.project)

    const child = machine.start([...SHELL, 'mkdir n; echo z > n/.envrc; echo ready; sleep 60'])
    await untilPrinted(child)
    child.kill('SIGKILL')

    await expect
      .poll(() => namesIn(machine.project))
      .toEqual([...before, 'n', 'n/.envrc.refused-by-palisade'].toSorted())
  })
})
