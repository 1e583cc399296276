import { describe, expect, it } from 'vitest'
import { addCommands } from '../../packages/cli/src/commands.ts'
import { createProcessIo } from '../../packages/cli/src/process-io.ts'
import { createProgram } from '../../packages/cli/src/program.ts'
import { createStyle } from '../../packages/cli/src/terminal/style.ts'

const CONTEXT = {
  io: createProcessIo(),
  style: createStyle(false),
  exit: () => undefined,
}

type Commands = ReturnType<typeof createProgram>['commands']

async function commandsFor(first: string): Promise<Commands> {
  const program = createProgram({ out: () => undefined, error: () => undefined })
  await addCommands(program, CONTEXT, first)
  return program.commands
}

const ALL = await commandsFor('')

describe('addCommands', () => {
  it.each(ALL.map((command) => command.name()))('adds %s alone and as among all', async (name) => {
    const added = await commandsFor(name)

    expect(added.map((command) => command.name())).toEqual([name])
    const among = ALL.find((command) => command.name() === name)
    expect(added[0]?.helpInformation()).toBe(among?.helpInformation())
  })

  it.each(['', 'chek', '--help', '--debug', '-x', 'constructor', '__proto__', 'hasOwnProperty'])(
    'adds all for the first word `%s`, which names no command',
    async (first) => {
      const names = (await commandsFor(first)).map((command) => command.name())

      expect(names).toEqual(ALL.map((command) => command.name()))
      expect(names.length).toBeGreaterThan(30)
    },
  )

  it.each([
    ['device', 'list', ['ls']],
    ['request', 'ls', ['list']],
    ['policy', 'delete', ['remove', 'rm']],
    ['rule', 'rm', ['remove', 'delete']],
    // Two commands of one meaning keep their own words.
    ['policy', 'list', []],
    ['team', 'remove', []],
    ['team', 'delete', []],
  ])('accepts other words for `%s %s`', async (group, name, words) => {
    const [added] = await commandsFor(group)

    expect(added?.commands.find((each) => each.name() === name)?.aliases()).toEqual(words)
  })

  it('adds no command to print the version', async () => {
    expect(await commandsFor('--version')).toEqual([])
  })
})
