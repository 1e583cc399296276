import { CommanderError } from 'commander'
import { usageError } from './cli-error.ts'
import { EXIT } from './exit-code.ts'
import type { Io } from './io.ts'
import { createProgram } from './program.ts'
import { reportError } from './report-error.ts'
import { createStyle } from './terminal/style.ts'
import { write } from './terminal/write.ts'

/**
 * Runs the command `argv` (without node and script) and resolves to its exit code. Never rejects
 * and never ends the process.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let exitCode: number = EXIT.ok
  const printed: { out: string; error: string } = { out: '', error: '' }
  const context = {
    io,
    style: createStyle(io.colour),
    exit: (code: number): void => {
      exitCode = code
    },
  }
  const program = createProgram(context, {
    out: (text) => (printed.out += text),
    error: (text) => (printed.error += text),
  })
  const fail = (failure: unknown): void => {
    const report = reportError(failure, program.opts()['debug'] === true)
    exitCode = report.exitCode
    printed.error += report.text
  }
  try {
    await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    const failure = error instanceof CommanderError ? endOfParsing(error) : error
    if (failure !== null) fail(failure)
  }
  try {
    if (printed.out !== '') await write(io.stdout, printed.out)
  } catch (error) {
    fail(error)
  }
  // Nobody is left to be told; the exit code still says it.
  if (printed.error !== '') await write(io.stderr, printed.error).catch(() => false)
  return exitCode
}

/** Null when commander did what it was asked: print help or version. */
function endOfParsing(error: CommanderError): Error | null {
  if (error.exitCode === 0) return null
  const message = error.message
    .replace(/^error: /, '')
    .replaceAll("'", '`')
    .replaceAll('\n', ' ')
    .replace(/\.$/, '')
  // Without a command, commander prints the help itself and has no message of its own.
  if (error.code === 'commander.help') return usageError('a command is needed; see above')
  return usageError(`${message}; see \`palisade --help\``)
}
