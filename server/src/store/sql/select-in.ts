import type { Connection, Effect, Statement, Value } from './connection.ts'

/** Statements are kept for so many keys; fewer are filled up with the last one again. */
const SIZES = [1, 4, 16, 64, 128, 300]
const LARGEST = 300

/**
 * A function that selects the rows of many keys, 300 in one statement: a statement for each takes
 * one journey to the database each. `format` gives the SQL around a list of parameters, which comes
 * last. One that writes answers rows by RETURNING, and has its `effect`.
 */
export function createSelectIn<Row>(
  connection: Connection,
  format: (list: string) => string,
  effect?: Effect,
): (others: readonly Value[], keys: readonly Value[]) => Promise<Row[]> {
  const statements = new Map<number, Statement<Row>>()

  function statementFor(size: number): Statement<Row> {
    const known = statements.get(size)
    if (known !== undefined) return known
    const list = Array.from({ length: size }, () => '?').join()
    const made = connection.prepare<Row>(format(list), effect)
    statements.set(size, made)
    return made
  }

  return async (others, keys) => {
    const rows: Row[] = []
    for (let first = 0; first < keys.length; first += LARGEST) {
      const some = keys.slice(first, first + LARGEST)
      const size = SIZES.find((each) => each >= some.length) ?? LARGEST
      const filling = Array.from({ length: size - some.length }, () => some.at(-1) ?? null)
      rows.push(...(await statementFor(size).all(...others, ...some, ...filling)))
    }
    return rows
  }
}
