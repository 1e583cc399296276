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
    .description('manage the keys that sign access tokens and policies')
  keys
    .command('list')
    .description('list the keys that sign access tokens, and their states')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade-server keys list')
    .action((options: KeyOptions) => listKeysCommand(readProcessConfig(), systemSources(), options))
  keys
    .command('rotate')
    .description('replace a signing key; works while the server runs')
    .addArgument(new Argument('[purpose]', 'the key of access tokens').choices(['access-token']))
    .addOption(
      new Option('--role <role>', 'role of a key that signs policies').choices([
        'targets',
        'online',
        'root',
      ]),
    )
    .option('--org <name>', 'with --role: organization of the key')
    .option('--compromised', 'with --role: the key was stolen; re-sign all views at once')
    .option('--root-key <file>', 'with --role: file of an exported root key')
    .option('--passphrase-file <file>', 'its passphrase; prompted for when left out')
    .option('--out <file>', 'with --role root and --root-key: new file for the next root key')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
access-token: the private part of the previous key is deleted. Its public part verifies for another
61 minutes, until its last token has expired.

--role: the targets key signs policies and assignments of machines, the online key signs their
freshness, and the root key names both. A new root is also signed by the previous root key, and
machines accept it at their next poll. --compromised replaces targets and online together, so that
a thief cannot lock machines out with a high version.

Examples:
  palisade-server keys rotate access-token
  palisade-server keys rotate --role online --org acme --compromised`,
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
    .description('refuse all access tokens of a replaced key at once')
    // One key in 64 begins with `-` (base64url, RFC 7638), and is no option.
    .allowUnknownOption()
    .argument('<kid>', 'the key, as `keys list` shows it')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
For a stolen key: rotate first, then retire the old key. Holders of its access tokens must
exchange their secrets again.

Examples:
  palisade-server keys retire zx0LZBX3uOxHGZzz2S3ISUWr3NNnZ_hBZmmnaFJ1wbU`,
    )
    .action((kid: string, options: KeyOptions) =>
      retireKeyCommand(readProcessConfig(), systemSources(), kid, options),
    )
  addDistributionKeys(keys)
}
