import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'
import {
  exportRootCommand,
  keyStatusCommand,
  signRootCommand,
  type ExportRootOptions,
  type SignRootOptions,
  type StatusOptions,
} from '../distribution-keys.ts'

/** `keys status|export-root|sign-root`: keys that sign the policies of machines. */
export function addDistributionKeys(keys: Command): void {
  keys
    .command('status')
    .description('list the keys that sign policies, and the next step that is due')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade-server keys status')
    .action((options: StatusOptions) =>
      keyStatusCommand(readProcessConfig(), systemSources(), options),
    )
  keys
    .command('export-root')
    .description('move the root key of an organization from the server to a file')
    .requiredOption('--org <name>', 'name of the organization')
    .requiredOption('--out <file>', 'new file to write; PKCS#8, encrypted')
    .option('--passphrase-file <file>', 'its passphrase; prompted for when left out')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The server works without the root key for at least half a year: see \`keys status\`. Rotating keys
and signing the next root then need the file. A lost file cannot be replaced: all machines would
have to be enrolled again.

Examples:
  palisade-server keys export-root --org acme --out /media/usb/acme-root.pem`,
    )
    .action((options: ExportRootOptions) =>
      exportRootCommand(readProcessConfig(), systemSources(), options),
    )
  keys
    .command('sign-root')
    .description('sign the next root, valid for a year, with an exported root key')
    .requiredOption('--org <name>', 'name of the organization')
    .requiredOption('--root-key <file>', 'file written by `keys export-root`')
    .option('--passphrase-file <file>', 'its passphrase; prompted for when left out')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade-server keys sign-root --org acme ' +
        '--root-key /media/usb/acme-root.pem',
    )
    .action((options: SignRootOptions) =>
      signRootCommand(readProcessConfig(), systemSources(), options),
    )
}
