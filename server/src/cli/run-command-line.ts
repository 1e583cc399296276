import { CommanderError } from 'commander'
import { randomUUID } from 'node:crypto'
import { CommandFailure } from '../platform/command-failure.ts'
import { createProgram } from './program/program.ts'
import { ConfigError } from '../platform/config-error.ts'
import { StoreError } from '../store/store-error.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2
/** `EX_CONFIG` of sysexits.h. */
const EXIT_CONFIG = 78

/** Runs `palisade-server` with the arguments after the program's name; answers the exit status. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its own message, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
    return report(error, args.includes('--debug'))
  }
}

function report(error: unknown, debug: boolean): number {
  if (error instanceof ConfigError) {
    for (const problem of error.problems) print(problem)
    if (debug) print(String(error.stack))
    return EXIT_CONFIG
  }
  if (error instanceof CommandFailure) {
    print(error.message)
    return error.kind === 'usage' ? EXIT_USAGE : EXIT_FAILED
  }
  if (error instanceof StoreError) {
    print(error.message)
    if (debug) print(String(error.stack))
    return EXIT_FAILED
  }
  print(`internal error (report ${randomUUID()}); run again with --debug for details`)
  if (debug) print(error instanceof Error ? String(error.stack) : String(error))
  return EXIT_FAILED
}

function print(line: string): void {
  process.stderr.write(`palisade-server: ${line}\n`)
}
