import type { Dialect } from '../dialect.ts'

/** How many answers are kept for each caller; those of earlier releases have no caller. */
export function keptAnswers({ text, integer, keyed }: Dialect): string {
  return `
  ALTER TABLE idempotency ADD COLUMN caller ${text};

  CREATE TABLE idempotency_callers (
    caller ${text} PRIMARY KEY,
    answers ${integer} NOT NULL,
    bytes ${integer} NOT NULL
  ) ${keyed};
  `
}
