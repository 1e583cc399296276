import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'
import { dropEvidenceCommand, type DropEvidenceOptions } from '../drop-evidence.ts'

/** `evidence drop`. */
export function addEvidence(program: Command): void {
  program
    .command('evidence')
    .description('manage the decision records of machines')
    .command('drop')
    .description('permanently remove the decision records of an organization or a device')
    .requiredOption('--org <name>', 'organization whose records are removed')
    .option('--device <id>', 'only those of this device, also a revoked one')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Frees the limits of the records. The removal is an event of the organization (evidence.dropped). The
place in the chain of each device stays, so that machines do not send the same records again. Works
while the server runs, and on a full disk. evidence.db shrinks, unless an earlier release made it:
then later records use its free pages.

Examples:
  palisade-server evidence drop --org acme --device 01890f3e-7b1c-7cc2-98c5-0d6f3a1b2c4d
  palisade-server evidence drop --org acme`,
    )
    .action((options: DropEvidenceOptions) =>
      dropEvidenceCommand(readProcessConfig(), systemSources(), options),
    )
}
