import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { verifyHistoryCommand, type VerifyHistoryOptions } from '../history.ts'

/** `verify-history`. */
export function addVerifyHistory(program: Command): void {
  program
    .command('verify-history')
    .description('prove that no event of the change history was edited, removed or inserted')
    .option('--org <name>', 'organization to check; all when left out')
    .option('--head <hash>', 'head that an earlier run printed, kept elsewhere since')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Prints the newest event and its hash, the head, of every organization, and exits with 1 naming the
first event that is not as it was written. Works while the server runs.

The chain finds every change by somebody who does not make all later hashes anew. Whoever can write
to the database can do that, so keep heads elsewhere and compare: a history that still has a noted
head is, up to there, what it was.

Examples:
  $ palisade-server verify-history
  $ palisade-server verify-history --org acme --head 9f2c…`,
    )
    .action((options: VerifyHistoryOptions) => verifyHistoryCommand(readProcessConfig(), options))
}
