import { describe, expect, it } from 'vitest'
import { addCommands } from '../../packages/cli/src/commands.ts'
import { createProcessIo } from '../../packages/cli/src/runtime/process-io.ts'
import { createProgram } from '../../packages/cli/src/program.ts'
import { reflow } from '../../packages/cli/src/terminal/reflow.ts'
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

interface Named {
  readonly command: Commands[number]
  /** Words after `palisade`. */
  readonly path: string
}

/** All commands and groups that the help lists, at any depth. */
function walk(commands: Commands, before = ''): readonly Named[] {
  return commands.flatMap((command) => {
    const path = `${before}${command.name()}`
    const own = command.createHelp().visibleCommands(command)
    return [{ command, path }, ...walk(own, `${path} `)]
  })
}

function helpOf(command: Commands[number]): string {
  let printed = ''
  command.configureOutput({ writeOut: (text) => (printed += text) })
  command.outputHelp()
  return printed
}

/** The end of the whole help, which other texts of the command precede. */
function examplesOf(command: Commands[number]): string {
  return helpOf(command).split('\nExamples:\n')[1] ?? ''
}

/** A word or an option of an example that the commands do not have. */
function findFault(line: string): string | null {
  const [words = ''] = line.split(/ (?:-- |[<>|] )/)
  const [first = '', ...rest] = words.split(/ +/)
  let command = ALL.find((each) => each.name() === first)
  if (command === undefined) return first
  for (const word of rest) {
    const named: Commands[number] | undefined = command.commands.find(
      (each) => each.name() === word || each.aliases().includes(word),
    )
    if (named !== undefined) command = named
    else if (command.commands.length > 0 && command.registeredArguments.length === 0) return word
    else break
  }
  const known = new Set(['--help', ...command.options.map(({ long }) => long)])
  return rest.find((word) => /^--[a-z]/.test(word) && !known.has(word)) ?? null
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

  it.each(walk(ALL))('has examples in the help of $path, each of which exists', (named) => {
    const examples = examplesOf(named.command)

    expect(examples).toContain(`palisade ${named.path}`)
    for (const [, line = ''] of examples.matchAll(/^ *palisade (.*(?:\\\n.*)*)$/gm))
      expect(findFault(line)).toBeNull()
  })

  it.each(walk(ALL))('fits the help of $path into its columns, but for what is copied', (named) => {
    const text = reflow(helpOf(named.command), 80)

    const long = text.split('\n').filter((line) => line.length > 80)
    expect(long.filter((line) => !/^ {2,}/.test(line))).toEqual([])
  })

  it('lists all commands of a group in one style, without a capital and a full stop', () => {
    const groups = walk(ALL).filter(({ command }) => command.commands.length > 0)
    const lines = groups.flatMap(({ command }) => {
      const help = command.createHelp()
      return help.visibleCommands(command).map((each) => help.subcommandDescription(each))
    })

    expect(lines.length).toBeGreaterThan(50)
    expect(lines.filter((line) => !/^[a-z].*[^.]$/.test(line))).toEqual([])
  })

  it('adds no command to print the version', async () => {
    expect(await commandsFor('--version')).toEqual([])
  })
})
