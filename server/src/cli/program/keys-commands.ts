import { Argument, type Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../sources.ts'
import { listKeysCommand, retireKeyCommand, rotateKeyCommand, type KeyOptions } from '../keys.ts'

/** `keys list|rotate|retire`. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('keys that sign access tokens')
  keys
    .command('list')
    .description('show every signing key and its state')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  $ palisade-server keys list')
    .action((options: KeyOptions) => listKeysCommand(readProcessConfig(), systemSources(), options))
  keys
    .command('rotate')
    .description('sign with a new key from now on; works while the server runs')
    .addArgument(new Argument('<purpose>', 'what the key signs').choices(['access-token']))
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The key before is deleted but for its public part, which verifies for 61 minutes more: until the
last token that it signed has expired.

Example:
  $ palisade-server keys rotate access-token`,
    )
    .action((_purpose: string, options: KeyOptions) =>
      rotateKeyCommand(readProcessConfig(), systemSources(), options),
    )
  keys
    .command('retire')
    .description('refuse at once what a key that signs no more has signed')
    // One key in 64 begins with `-` (base64url, RFC 7638), and is no option.
    .allowUnknownOption()
    .argument('<kid>', 'the key, as `keys list` shows it')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
For a key that others may have: rotate first, then retire the old one. Everybody whose access token
it signed exchanges his secret anew.

Example:
  $ palisade-server keys retire zx0LZBX3uOxHGZzz2S3ISUWr3NNnZ_hBZmmnaFJ1wbU`,
    )
    .action((kid: string, options: KeyOptions) =>
      retireKeyCommand(readProcessConfig(), systemSources(), kid, options),
    )
}
