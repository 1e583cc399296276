import { CommanderError, type Command } from 'commander'
import { addCommands } from './commands.ts'
import { createProgram } from './program.ts'
import { usageError } from './runtime/cli-error.ts'
import { EXIT } from './runtime/exit-code.ts'
import type { Io } from './runtime/io.ts'
import { reportError } from './runtime/report-error.ts'
import { write } from './runtime/write.ts'
import { createStyle } from './terminal/style.ts'

/**
 * Runs the command `argv` (without node and script) and resolves to its exit code. Never rejects
 * and never ends the process.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let exitCode: number = EXIT.ok
  let isWide = false
  const printed: { out: string; error: string } = { out: '', error: '' }
  const context = {
    io,
    style: createStyle(io.colour, io.columns, () => isWide),
    exit: (code: number): void => {
      exitCode = code
    },
  }
  const program = createProgram(
    {
      out: (text) => (printed.out += text),
      error: (text) => (printed.error += text),
    },
    io.columns,
  )
  program.hook('preAction', (_, command) => {
    isWide = command.opts()['wide'] === true
  })
  const fail = (failure: unknown): void => {
    const report = reportError(failure, program.opts()['debug'] === true)
    exitCode = report.exitCode
    printed.error += report.text
  }
  try {
    const words = withoutVerbs(argv)
    await addCommands(program, context, words[0] ?? '')
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    const failure =
      error instanceof CommanderError ? endOfParsing(error, namedCommand(program, argv)) : error
    if (failure !== null) fail(failure)
  }
  try {
    if (printed.out !== '') await write(io.stdout, printed.out)
  } catch (error) {
    fail(error)
  }
  // A failed write to stderr cannot be reported; the exit code still reports the failure.
  if (printed.error !== '') await write(io.stderr, printed.error).catch(() => false)
  return exitCode
}

/** Returns null after commander printed the help or the version. */
function endOfParsing(error: CommanderError, { command, path }: NamedCommand): Error | null {
  if (error.exitCode === 0) return null
  const missing = error.code === 'commander.missingMandatoryOptionValue' ? missingOf(command) : []
  const message = (missing.length > 1 ? `options ${missing.join(', ')} are missing` : error.message)
    .replace(/^error: /, '')
    .replaceAll("'", '`')
    .replaceAll('\n', ' ')
    .replace(/\.$/, '')
  // Without a command, commander prints the help itself and has no message of its own.
  if (error.code === 'commander.help') return usageError('a command is needed; see above')
  return usageError(`${message}; see \`${path} --help\``)
}

/** Rewrites the verbs `help [COMMAND…]` and `version` into options. */
function withoutVerbs(argv: readonly string[]): string[] {
  const [first, ...rest] = argv
  if (first === 'help') return [...rest, '--help']
  return first === 'version' && rest.length === 0 ? ['--version'] : [...argv]
}

interface NamedCommand {
  readonly command: Command
  /** The words as typed, such as `palisade rule add`. */
  readonly path: string
}

/** The command that the words of `argv` name. */
function namedCommand(program: Command, argv: readonly string[]): NamedCommand {
  let command = program
  let path = program.name()
  for (const word of argv) {
    const next = command.commands.find(
      (each) => each.name() === word || each.aliases().includes(word),
    )
    if (next === undefined) continue
    command = next
    path += ` ${word}`
  }
  return { command, path }
}

/** All missing mandatory options; commander names only the first. */
function missingOf(command: Command): readonly string[] {
  return command.options
    .filter(({ mandatory }) => mandatory)
    .filter((option) => command.getOptionValue(option.attributeName()) === undefined)
    .map(({ long }) => `\`${long}\``)
}
