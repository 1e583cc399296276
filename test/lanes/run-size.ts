/** `PALISADE_SEED`, or a new one. */
export function seedOfRun(): number {
  const given = process.env['PALISADE_SEED']
  if (given === undefined || given === '') return Math.floor(Math.random() * 0x7fffffff)
  if (!/^-?\d{1,10}$/.test(given)) {
    throw new Error(`\`${given}\` is no seed; write PALISADE_SEED as a whole number`)
  }
  return Number(given)
}

/** Of `npm test`, which runs each long test in small; `npm run test:full` has 1. */
const SMALL = 0.1

/** `PALISADE_CASES`: the size of long tests as a multiple of the full size; 0.1 when not set. */
export function factorOfRun(): number {
  const given = process.env['PALISADE_CASES'] ?? ''
  if (given === '') return SMALL
  if (!/^\d{1,4}(?:\.\d{1,3})?$/.test(given)) {
    throw new Error(`\`${given}\` is no factor; write PALISADE_CASES as a number such as 10`)
  }
  return Number(given)
}

/** Environment of long tests at full size, unless the caller chose a size. */
export function fullSize(): Record<string, string> {
  return { PALISADE_CASES: process.env['PALISADE_CASES'] ?? '1' }
}

/** Whether a law runs in each of its variants, not in the quickest alone. */
export function isFullRun(): boolean {
  return factorOfRun() >= 1
}

/** A full number of cases at the size of this run: whole, because half a case never ends a law. */
export function casesOfRun(full: number): number {
  return Math.max(1, Math.round(full * factorOfRun()))
}
