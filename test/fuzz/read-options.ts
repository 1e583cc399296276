import { parseArgs } from 'node:util'

export interface Options {
  readonly minutes: number
  /** Null for a random seed. */
  readonly seed: number | null
}

export const USAGE = `usage: npm run fuzz -- --minutes N [--seed S]
       npm run fuzz -- proxy [--cases N] [--seed S]

Compares decide and explain with the reference evaluator on generated policy sets of 1 to 50,000
resources, ordinary and hostile, until the time is up or an answer differs. With \`proxy\`, reads
mutated bytes with the parsers of the proxy.

  --minutes N   duration; may be a fraction such as 0.5
  --seed S      seed of the first set, an integer; random by default; always printed
  --help        print this text

Exit code: 0 no difference, 1 a difference, 2 wrong usage.

Examples:
  npm run fuzz -- --minutes 30
  npm run fuzz -- --minutes 1 --seed 12345
`

/** Seeds stay small enough that counting up from one remains exact. */
const MAX_SEED = 2 ** 32

/** Parses the command's arguments. Returns `help`, or an error message in `wrong`. */
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
      return { wrong: '`--minutes` is missing; write a duration such as `--minutes 1`' }
    if (!/^\d{1,4}(?:\.\d+)?$/.test(minutes) || Number(minutes) === 0)
      return {
        wrong: `\`--minutes ${minutes}\` is not a duration; write a number such as \`0.5\``,
      }
    if (seed !== undefined && (!/^\d{1,10}$/.test(seed) || Number(seed) >= MAX_SEED))
      return {
        wrong: `\`--seed ${seed}\` is not a seed; write a whole number from 0 to ${MAX_SEED - 1}`,
      }
    return { minutes: Number(minutes), seed: seed === undefined ? null : Number(seed) }
  } catch (error) {
    const why = error instanceof Error ? error.message.split('.')[0] : String(error)
    return { wrong: `${why ?? ''}; write \`--minutes N [--seed S]\`` }
  }
}
