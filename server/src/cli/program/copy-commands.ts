import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { copyCommand, type CopyOptions } from '../copy.ts'

/** `copy`. */
export function addCopy(program: Command): void {
  program
    .command('copy')
    .description('copy everything in one store to another, which must be empty')
    .requiredOption(
      '--from <store>',
      '`sqlite` (the data directory), `postgres` (DATABASE_URL), a path or a URL',
    )
    .requiredOption('--to <store>', 'the same')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
One snapshot is copied in one transaction, read again and compared. The source is only read, and
may be in use; stop its servers first, or writes that they accept meanwhile are not copied.

Examples:
  $ DATABASE_URL=postgres://palisade:secret@db/palisade palisade-server copy --from sqlite --to postgres
  $ palisade-server copy --from postgres://palisade:secret@db/palisade --to /var/lib/palisade/server.db`,
    )
    .action((options: CopyOptions) => copyCommand(readProcessConfig(), options))
}
