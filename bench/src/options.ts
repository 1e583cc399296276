import { parseArgs } from 'node:util'
import type { Subject } from './figures/subject.ts'

export type Options =
  | { readonly kind: 'help' }
  | {
      readonly kind: 'run'
      readonly subject: Subject
      readonly quick: boolean
      /** One case; null for all. */
      readonly only: string | null
    }

/** Parses the command's arguments, or returns an error message. */
export function readOptions(
  argv: readonly string[],
  subjects: readonly Subject[],
): Options | string {
  const names = subjects.map(({ name }) => name)
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
      allowPositionals: true,
    })
    const { help, quick, only = null } = values
    if (help || argv.length === 0) return { kind: 'help' }
    const subject = subjects.find(({ name }) => name === positionals[0])
    if (subject === undefined || positionals.length > 1)
      return `unknown subject \`${positionals.join(' ')}\`; write one of ${names.join(', ')}`
    if (only !== null && !subject.cases.includes(only))
      return `unknown case \`--only ${only}\`; write one of ${subject.cases.join(', ')}`
    return { kind: 'run', subject, quick, only }
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('.')[0] ?? '') : String(error)
    return `${why}; write \`${names.join('|')} [--quick] [--only CASE]\` or \`--help\``
  }
}

/** The text of `--help`. */
export function formatHelp(subjects: readonly Subject[]): string {
  const lines = subjects.map(
    ({ name, about, minutes, cases }) =>
      `  ${name.padEnd(10)} ${about}; ${minutes} minutes\n${' '.repeat(13)}${cases.join(', ')}\n`,
  )
  return `usage: npm run bench -- SUBJECT [--quick] [--only CASE]

Tables and goals go to standard output, progress to standard error. A whole run replaces the figures
in bench/results and the table of its goals in bench/README.md.

subjects, and their cases:
${lines.join('')}
  --quick        a short run that only checks that all works; writes no results
  --only CASE    one of the cases above; writes no results
  --help         print this text; also without arguments

examples:
  npm run bench -- decide --only hosts
  npm run bench -- server --quick

bench/README.md explains the measurements and the tables.
`
}
