import type { Dialect } from '../dialect.ts'

/** The name that people know a machine by. */
export function deviceNames({ text }: Dialect): string {
  return `
  ALTER TABLE devices ADD COLUMN name ${text};
  `
}
