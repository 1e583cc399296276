import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { copyCommand, type CopyOptions } from '../copy.ts'

/** `copy`. */
export function addCopy(program: Command): void {
  program
    .command('copy')
    .description('copy a store to another one, which must be empty')
    .requiredOption(
      '--from <store>',
      '`sqlite` (the data directory), `postgres` (DATABASE_URL), a path or a URL',
    )
    .requiredOption('--to <store>', 'like --from')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Copies one snapshot in one transaction, reads it back and compares it. The source is only read, and
may be in use, but its later writes are not copied: stop its servers first.

Examples:
  $ DATABASE_URL=postgres://palisade:secret@db/palisade palisade-server copy --from sqlite --to postgres
  palisade-server copy --from postgres://palisade:secret@db/palisade --to /srv/palisade.db`,
    )
    .action((options: CopyOptions) => copyCommand(readProcessConfig(), options))
}
