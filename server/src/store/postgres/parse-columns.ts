import pg from 'pg'

const { INT2, INT4, INT8, BYTEA } = pg.types.builtins
const INTEGERS: ReadonlySet<number> = new Set([INT2, INT4, INT8])
const BYTES: ReadonlySet<number> = new Set([BYTEA])
const parseBytes = pg.types.getTypeParser(BYTEA)

/**
 * How a connection reads columns, for itself alone: integers as numbers, bytes as a Buffer and
 * everything else as the text that PostgreSQL sends. Throws RangeError rather than rounding.
 */
export const COLUMN_PARSERS = {
  getTypeParser(type: number) {
    if (INTEGERS.has(type)) return parseInteger
    if (BYTES.has(type)) return parseBytes
    return (text: string) => text
  },
}

function parseInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`integer ${text} is beyond 53 bits`)
  return value
}
