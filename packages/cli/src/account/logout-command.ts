import type { Command } from 'commander'
import type { Io } from '../runtime/io.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { credentialsPath, deleteCredentials, readCredentials } from './credentials-file.ts'
import type { StoredCredentials } from './credentials.ts'
import { revokeMachineToken } from './machine-token.ts'

/** `palisade logout` */
export function addLogoutCommand(program: Command, context: RunContext): void {
  program
    .command('logout')
    .summary('revoke and forget the stored token')
    .description(
      'Delete the stored credentials. A token that `palisade login` made from a password is ' +
        'revoked; a token that you entered stays valid until it expires or is revoked.',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade logout')
    .action(async (options: { readonly json?: true }) => {
      const path = credentialsPath(context.io)
      const stored = await readReadable(path)
      const revoked = stored !== null && (await tryToRevoke(context, stored))
      const removed = await deleteCredentials(path)
      await present(context, options.json, { signed_out: removed, revoked }, () =>
        removed ? 'signed out\n' : 'not signed in\n',
      )
    })
}

/** Returns null for unreadable credentials, which are deleted as well. */
async function readReadable(path: string): Promise<StoredCredentials | null> {
  return readCredentials(path).catch(() => null)
}

/** Revokes the token of this machine; only warns of a failure, because a logout must not fail. */
export async function tryToRevoke(
  { io, style }: { readonly io: Io; readonly style: RunContext['style'] },
  stored: StoredCredentials,
): Promise<boolean> {
  if (stored.token_id === undefined) return false
  try {
    await revokeMachineToken(io, stored)
    return true
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const words =
      `warning: the token ${stored.token_id} at ${stored.server} is not revoked: ${why}; ` +
      `it expires at ${stored.expires_at}, or run \`palisade token revoke ${stored.token_id}\``
    await write(io.stderr, `${style.plain(words)}\n`)
    return false
  }
}
