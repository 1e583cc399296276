import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'
import { verifyHistoryCommand, type VerifyHistoryOptions } from '../history.ts'
import { pruneHistoryCommand, type PruneHistoryOptions } from '../prune-history.ts'

/** `verify-history`. */
export function addVerifyHistory(program: Command): void {
  program
    .command('verify-history')
    .description('verify that no event of the change history was edited, removed or inserted')
    .option('--org <name>', 'organization to check; all when left out')
    .option('--head <hash>', 'head printed by an earlier run, kept outside the database')
    .option('--state', 'compare the stored state with the last event of each item')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Prints the newest event and its hash, the head, of every organization, and exits with 1 naming the
first event that is not as it was written. Works while the server runs.

With --state a policy, rule, team, member, invitation, setting, device, webhook or token of the
organization that was changed past the server is named: such a write leaves no event. Passwords,
personal tokens, keys and the order of rules are not in the history, and are not compared.

The chain reveals every change unless all later hashes are recomputed. An attacker who can write to
the database can do that, so keep heads elsewhere and compare: a history that contains a kept head
is unchanged up to it.

After old events were removed (history prune, PALISADE_HISTORY_DAYS), the chain starts at the last
of them. The event of the removal must confirm that event and the state at that point.

Examples:
  palisade-server verify-history
  palisade-server verify-history --state
  palisade-server verify-history --org acme --head 9f2c…`,
    )
    .action((options: VerifyHistoryOptions) => verifyHistoryCommand(readProcessConfig(), options))
}

/** `history prune`. */
export function addHistory(program: Command): void {
  program
    .command('history')
    .description('manage the change history')
    .command('prune')
    .description('permanently remove the oldest events of an organization')
    .requiredOption('--org <name>', 'organization whose events are removed')
    .requiredOption('--before <date>', 'keep events from this day or instant on, in UTC')
    .option('--skip-undelivered', 'also remove events not yet delivered to a webhook')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Verifies each event before removing it, and refuses a damaged history. The newest event stays, and
the removal is recorded as an event. verify-history continues from there, and --state still covers
every item. Works while the server runs.

Examples:
  palisade-server history prune --org acme --before 2026-01-01`,
    )
    .action((options: PruneHistoryOptions) =>
      pruneHistoryCommand(readProcessConfig(), systemSources(), options),
    )
}
