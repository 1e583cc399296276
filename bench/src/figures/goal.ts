import { formatNumber } from './format-number.ts'
import type { Range } from './range.ts'
import { formatTable, type Figures } from './table.ts'

/** A bound of one figure. */
export interface Goal {
  readonly name: string
  /** Domain or other variant of the name. Goals of one name and unit share a line of README. */
  readonly at?: string
  readonly unit: string
  /** Whether `bound` is a lower bound; otherwise it is an upper bound. */
  readonly isAtLeast: boolean
  readonly bound: number
  /** Finds the figure. Returns undefined when the run did not measure it. */
  readonly find: (figures: Figures) => Range | undefined
}

/** The path to a figure: case, row, column. */
export type FigurePath = readonly [name: string, row: string, column: string]

export type Verdict = 'met' | 'missed' | 'not measured'

/** A goal that the median must not exceed. */
export function atMost(
  name: string,
  bound: number,
  unit: string,
  where: FigurePath | Goal['find'],
): Goal {
  return { name, unit, isAtLeast: false, bound, find: finderOf(where) }
}

/** A goal that the median must reach. */
export function atLeast(
  name: string,
  bound: number,
  unit: string,
  where: FigurePath | Goal['find'],
): Goal {
  return { name, unit, isAtLeast: true, bound, find: finderOf(where) }
}

function finderOf(where: FigurePath | Goal['find']): Goal['find'] {
  if (typeof where === 'function') return where
  const [name, row, column] = where
  return (figures) => figures[name]?.[row]?.[column]
}

/** Finds the worst figure of a column over all rows of a case. */
export function worstOf(name: string, column: string): Goal['find'] {
  return (figures) => {
    const medians = Object.values(figures[name] ?? {}).flatMap((row) => row[column]?.median ?? [])
    if (medians.length === 0) return undefined
    return { median: Math.max(...medians), low: Math.min(...medians), high: Math.max(...medians) }
  }
}

/** Compares the median. The range beside it shows its uncertainty. */
export function verdictOf({ find, isAtLeast, bound }: Goal, figures: Figures): Verdict {
  const found = find(figures)
  if (found === undefined) return 'not measured'
  return (isAtLeast ? found.median >= bound : found.median <= bound) ? 'met' : 'missed'
}

/** Formats one row per goal, then the number of goals by verdict. */
export function formatGoals(goals: readonly Goal[], figures: Figures): string {
  const rows = goals.map((goal) => [
    [goal.name, ...(goal.at === undefined ? [] : [goal.at])].join(', '),
    formatBounds([goal]),
    ...formatFound(goal.find(figures)),
    verdictOf(goal, figures),
  ])
  const count = (verdict: Verdict): number =>
    rows.filter((cells) => cells.at(-1) === verdict).length
  const counts = (['met', 'missed', 'not measured'] as const).map(
    (each) => `${count(each)} ${each}`,
  )
  const table = formatTable(['goal', 'bound', 'reached', 'range', ''], rows)
  return `${table}goals: ${counts.join(', ')}\n`
}

/** Formats the bounds of goals that differ in nothing else. */
export function formatBounds(goals: readonly Goal[]): string {
  const [first] = goals
  if (first === undefined) return ''
  const isCommon = goals.every(({ bound }) => bound === first.bound)
  const bounds = (isCommon ? [first] : goals).map(({ bound }) => bound.toLocaleString('en'))
  return `${first.isAtLeast ? '≥' : '≤'} ${bounds.join(', ')} ${first.unit}`.trimEnd()
}

function formatFound(found: Range | undefined): [string, string] {
  if (found === undefined) return ['', '']
  const { median, low, high } = found
  const range = low === undefined || high === undefined ? [] : [low, high]
  return [formatNumber(median), range.map(formatNumber).join('-')]
}
