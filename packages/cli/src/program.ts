import { Command, Help } from 'commander'
import { VERSION } from './runtime/version.ts'
import { reflow } from './terminal/reflow.ts'

/** Sinks for commander's own output. */
export interface ProgramOutput {
  readonly out: (text: string) => void
  readonly error: (text: string) => void
}

/** Columns of an output that is no terminal. */
const HELP_WIDTH = 80
/** Longer lines are hard to read. */
const MAX_HELP_WIDTH = 100

/**
 * Creates the command line without commands; `addCommands` adds them. It never ends the process;
 * wrong usage throws CommanderError.
 */
export function createProgram(output: ProgramOutput, columns: number | null = null): Command {
  const width = Math.min(columns ?? HELP_WIDTH, MAX_HELP_WIDTH)
  return new Command('palisade')
    .description('Decide, centrally and provably, what software on your machines may reach.')
    .version(VERSION, '--version', 'print the version')
    .option('--debug', 'print the stack of a failure')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.out(reflow(text, width)),
      writeErr: (text) => output.error(reflow(text, width)),
      outputError: () => undefined,
      getOutHelpWidth: () => width,
      getErrHelpWidth: () => width,
    })
    .configureHelp({
      // The default of an option that may be repeated is an empty list, which is not worth a line.
      optionDescription: (option) =>
        Array.isArray(option.defaultValue)
          ? option.description
          : Help.prototype.optionDescription.call(new Help(), option),
      subcommandDescription: (command) => command.summary() || summarize(command.description()),
    })
    .addHelpText(
      'after',
      `
Exit codes: 0 done or allowed, 1 failed or denied, 2 wrong usage or not evaluated,
            70 a defect of this program, 78 broken configuration

Examples:
  palisade check connect:tcp example.com:443
  palisade explain read /data/x --policies policies.json
  palisade status
  palisade policy list`,
    )
}

/** The first sentence of a description, as a line of a list: `Show one webhook.` is `show …`. */
function summarize(description: string): string {
  const [sentence = ''] = description.split(/\.(?: |$)/, 1)
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}
