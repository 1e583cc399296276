import type { Dialect } from '../dialect.ts'

/** The assurance class of a machine, in its newest report. */
export function reportAssurance({ text }: Dialect): string {
  return `
  ALTER TABLE device_reports ADD COLUMN assurance ${text};
  `
}
