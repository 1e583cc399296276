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
    .description(
      'show every key that signs the policies of machines, and the next step that is due',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  $ palisade-server keys status')
    .action((options: StatusOptions) =>
      keyStatusCommand(readProcessConfig(), systemSources(), options),
    )
  keys
    .command('export-root')
    .description('move the root key of an organization into a file, and off the server')
    .requiredOption('--org <name>', 'name of the organization')
    .requiredOption('--out <file>', 'a file that is not there yet; PKCS#8, encrypted')
    .option('--passphrase-file <file>', 'its passphrase; asked for on a terminal otherwise')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The server works without it for half a year at least: see \`keys status\`. Rotating keys and the next
root need the file from then on. A lost file cannot be replaced: machines would have to enrol anew.

Example:
  $ palisade-server keys export-root --org acme --out /media/usb/acme-root.pem`,
    )
    .action((options: ExportRootOptions) =>
      exportRootCommand(readProcessConfig(), systemSources(), options),
    )
  keys
    .command('sign-root')
    .description('sign the next root, good for a year, with the root key of a file')
    .requiredOption('--org <name>', 'name of the organization')
    .requiredOption('--root-key <file>', 'the file that `keys export-root` has written')
    .option('--passphrase-file <file>', 'its passphrase; asked for on a terminal otherwise')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExample:\n  $ palisade-server keys sign-root --org acme --root-key /media/usb/acme-root.pem',
    )
    .action((options: SignRootOptions) =>
      signRootCommand(readProcessConfig(), systemSources(), options),
    )
}
