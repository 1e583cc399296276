import { parseArgs } from 'node:util'

export interface Options {
  readonly minutes: number
  /** Null for a new one. */
  readonly seed: number | null
}

export const USAGE = `usage: npm run fuzz -- --minutes N [--seed S]

Compares decide and explain with the reference evaluator on generated policy sets of 1 to 50,000
resources, ordinary and hostile, until the time is over or an answer differs.

  --minutes N   how long; a fraction such as 0.5 is fine
  --seed S      the first set's, a whole number; without it a new one, which is printed
  --help        this page

Exit code: 0 no difference, 1 a difference, 2 wrong usage.

Examples:
  npm run fuzz -- --minutes 30
  npm run fuzz -- --minutes 1 --seed 12345
`

/** Seeds stay so small that adding one for each set never loses a digit. */
const MAX_SEED = 2 ** 32

/** The command's arguments, `help`, or the sentence that says what is wrong with them. */
export function readOptions(
  argv: readonly string[],
): Options | 'help' | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        minutes: { type: 'string' },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return 'help'
    const { minutes, seed } = values
    if (minutes === undefined)
      return { wrong: 'no `--minutes`; write how long, such as `--minutes 1`' }
    if (!/^\d{1,4}(?:\.\d+)?$/.test(minutes) || Number(minutes) === 0)
      return {
        wrong: `\`--minutes ${minutes}\` is no time; write a number such as \`1\` or \`0.5\``,
      }
    if (seed !== undefined && (!/^\d{1,10}$/.test(seed) || Number(seed) >= MAX_SEED))
      return {
        wrong: `\`--seed ${seed}\` is no seed; write a whole number from 0 to ${MAX_SEED - 1}`,
      }
    return { minutes: Number(minutes), seed: seed === undefined ? null : Number(seed) }
  } catch (error) {
    const why = error instanceof Error ? error.message.split('.')[0] : String(error)
    return { wrong: `${why ?? ''}; write \`--minutes N [--seed S]\`` }
  }
}
