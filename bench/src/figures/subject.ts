import type { Results } from './results.ts'
import type { Figures, Rows } from './table.ts'

/** A group of cases that one command measures. */
export interface Subject {
  readonly name: string
  /** Beginning of its line in `--help`. */
  readonly about: string
  readonly minutes: number
  /** The names that `--only` takes. */
  readonly cases: readonly string[]
  readonly measure: (run: Run) => Promise<Figures>
  /** Draws the SVG beside its results. */
  readonly plot?: (results: Results) => string
}

/** One run of a subject. */
export interface Run {
  /** Whether the run only checks that every case works. */
  readonly quick: boolean
  /** Temporary folder, removed after the run. */
  readonly folder: string
  /** Whether a case was asked for. */
  wants(name: string): boolean
  /** Prints a line of progress. */
  tell(line: string): void
  /** Adds a line to the results. */
  note(line: string): void
}

/** Measures the wanted cases in order. */
export async function measureCases(
  run: Run,
  cases: Readonly<Record<string, () => Promise<Rows>>>,
): Promise<Figures> {
  const figures: Record<string, Rows> = {}
  for (const [name, measure] of Object.entries(cases)) {
    if (!run.wants(name)) continue
    run.tell(name)
    figures[name] = await measure()
  }
  return figures
}
