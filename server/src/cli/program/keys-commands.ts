import { Argument, Option, type Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'
import { CommandFailure } from '../../platform/command-failure.ts'
import { rotateDistributionKeyCommand, type RotateOptions } from '../distribution-keys.ts'
import { addDistributionKeys } from './distribution-keys-commands.ts'
import { listKeysCommand, retireKeyCommand, rotateKeyCommand, type KeyOptions } from '../keys.ts'

/** `keys list|rotate|retire|status|export-root|sign-root`. */
export function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('keys that sign access tokens, and those that sign the policies of machines')
  keys
    .command('list')
    .description('show every key that signs access tokens, and its state')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  $ palisade-server keys list')
    .action((options: KeyOptions) => listKeysCommand(readProcessConfig(), systemSources(), options))
  keys
    .command('rotate')
    .description('sign with a new key from now on; works while the server runs')
    .addArgument(new Argument('[purpose]', 'the key of access tokens').choices(['access-token']))
    .addOption(
      new Option('--role <role>', 'a key that signs the policies of machines').choices([
        'targets',
        'online',
        'root',
      ]),
    )
    .option('--org <name>', 'with --role: whose key')
    .option('--compromised', 'with --role: others have it; sign everything anew at once')
    .option('--root-key <file>', 'with --role: the root key, when it is kept apart')
    .option('--passphrase-file <file>', 'of the root key; asked for on a terminal otherwise')
    .option('--out <file>', 'with --role root and --root-key: where the next root key goes')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
access-token: the key before is deleted but for its public part, which verifies for 61 minutes more:
until the last token that it signed has expired.

--role: targets signs policies and the assignments of machines, online signs how fresh they are, root
names these keys. The next root is signed by the root key before it, and machines accept it at their
next poll. --compromised replaces targets and online together, so that a thief cannot lock machines
out with a high version.

Examples:
  $ palisade-server keys rotate access-token
  $ palisade-server keys rotate --role online --org acme --compromised`,
    )
    .action((purpose: string | undefined, options: KeyOptions & Partial<RotateOptions>) => {
      const { role, org } = options
      if (purpose !== undefined && role === undefined)
        return rotateKeyCommand(readProcessConfig(), systemSources(), options)
      if (purpose !== undefined || role === undefined || org === undefined)
        throw new CommandFailure('usage', 'write `access-token`, or `--role` with `--org`')
      return rotateDistributionKeyCommand(readProcessConfig(), systemSources(), {
        ...options,
        role,
        org,
      })
    })
  keys
    .command('retire')
    .description('refuse at once all access tokens of a key that signs no more')
    // One key in 64 begins with `-` (base64url, RFC 7638), and is no option.
    .allowUnknownOption()
    .argument('<kid>', 'the key, as `keys list` shows it')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
For a key that others may have: rotate first, then retire the old one. Holders of its access
tokens exchange their secrets anew.

Example:
  $ palisade-server keys retire zx0LZBX3uOxHGZzz2S3ISUWr3NNnZ_hBZmmnaFJ1wbU`,
    )
    .action((kid: string, options: KeyOptions) =>
      retireKeyCommand(readProcessConfig(), systemSources(), kid, options),
    )
  addDistributionKeys(keys)
}
