import { inspect } from 'node:util'
import type { Found, Tally } from './run-fuzz.ts'

/** The last line of a run: the number of comparisons, the rate, and how to repeat it. */
export function formatTally(tally: Tally, seed: number): string {
  const { cases, sets, elapsedMs, byClass } = tally
  const rate = Math.round(cases / Math.max(elapsedMs / 1000, 0.001))
  const classes = [...byClass].map(
    ([{ from, to }, held]) => `${held.resources} in ${held.sets} sets of ${from} to ${to}`,
  )
  return (
    `${cases} cases, ${rate} cases/s, seed ${seed}, ${sets} sets; ` +
    `resources: ${classes.join(', ')}`
  )
}

/** Formats a difference with everything needed to reproduce and understand it. */
export function formatFound({ case: each, set, earlier, difference }: Found): string {
  const show = (value: unknown): string =>
    inspect(value, { depth: null, maxStringLength: 5000, maxArrayLength: 200, breakLength: 100 })
  const left = difference.call === 'explain' ? 'decide' : 'reference'
  return [
    `${difference.call} differs from ${left}; ` +
      `to repeat: npm run fuzz -- --minutes 1 --seed ${each.seed}`,
    `family: ${each.family}, ${each.resources} resources before shrinking`,
    `set: ${show(set)}`,
    `options: ${show(each.options)}`,
    ...(earlier.length === 0 ? [] : [`asked before: ${show(earlier)}`]),
    `request: ${show(difference.request)}`,
    `${left}: ${show(difference.expected)}`,
    `${difference.call}: ${show(difference.answered)}`,
  ].join('\n')
}
