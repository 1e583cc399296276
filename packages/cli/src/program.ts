import { Command } from 'commander'
import { VERSION } from './version.ts'

/** Sinks for commander's own output. */
export interface ProgramOutput {
  readonly out: (text: string) => void
  readonly error: (text: string) => void
}

/**
 * Creates the command line without commands; `addCommands` adds them. It never ends the process;
 * wrong usage throws CommanderError.
 */
export function createProgram(output: ProgramOutput): Command {
  return new Command('palisade')
    .description('Decide, centrally and provably, what software on your machines may reach.')
    .version(VERSION, '--version', 'print the version')
    .option('--debug', 'print the stack of a failure')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeOut: output.out, writeErr: output.error, outputError: () => undefined })
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
