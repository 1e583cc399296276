import { parseServerUrl } from '@palisade/client'
import type { Command } from 'commander'
import { isIP } from 'node:net'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { Io } from '../runtime/io.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { credentialsPath, readCredentials, writeCredentials } from './credentials-file.ts'
import type { Account, StoredCredentials } from './credentials.ts'
import { tryToRevoke } from './logout-command.ts'
import { readSecretLine } from './read-secret.ts'
import { signIn } from './sign-in.ts'

interface LoginOptions {
  readonly server?: string
  readonly org?: string
  readonly username?: string
  readonly tokenStdin?: true
  readonly json?: true
}

/** `palisade login` */
export function addLoginCommand(program: Command, context: RunContext): void {
  program
    .command('login')
    .summary('sign in to a server')
    .description('Verify a token or password with the server and store a token for later commands.')
    .option('--server <url>', 'base URL of the server, such as http://127.0.0.1:8420')
    .option('--org <name>', 'organization to administer')
    .option('--username <name>', "user, or the organization's name for an organization token")
    .option('--token-stdin', 'read the token from standard input instead of asking')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
On a terminal, missing values are asked for. The token is stored in credentials.json (mode 0600) in
$PALISADE_CONFIG_DIR, by default ~/.config/palisade. A password is not stored: it is exchanged for a
personal token of this machine, which expires after 90 days, has your permissions, and is revoked by
\`palisade logout\` and replaced by the next login. PALISADE_SERVER, PALISADE_ORG,
PALISADE_USERNAME and PALISADE_TOKEN override the stored values.

Examples:
  palisade login
  palisade login --server http://127.0.0.1:8420 --org acme --username alice --token-stdin < token`,
    )
    .action(async (options: LoginOptions) => {
      const { io, style } = context
      const account = await completeAccount(io, options)
      await warnClearText(context, account.server)
      const file = credentialsPath(io)
      const previous = await readCredentials(file).catch(() => null)
      const kept = await signIn(io, account)
      await keep(context, file, kept)
      if (previous !== null) await tryToRevoke(context, previous)
      const { server, org, username, token_id = null, expires_at = null } = kept
      await present(
        context,
        options.json,
        { server, org, username, file, token_id, expires_at },
        () => {
          const signedIn = `signed in to ${server} as ${username}, organization ${org}`
          const made = `the password is not kept; this machine has a token until ${expires_at}`
          return `${style.plain(signedIn)}\n${token_id === null ? '' : `${style.plain(made)}\n`}`
        },
      )
    })
}

/** Revokes the token if it cannot be stored; it would stay valid without an owner. */
async function keep(context: RunContext, file: string, kept: StoredCredentials): Promise<void> {
  try {
    await writeCredentials(file, kept)
  } catch (error) {
    await tryToRevoke(context, kept)
    throw error
  }
}

async function completeAccount(io: Io, options: LoginOptions): Promise<Account> {
  const { env } = io
  const server = parseServerUrl(
    options.server ??
      (env['PALISADE_SERVER'] || (await ask(io, 'server', 'Server', 'http://127.0.0.1:8420'))),
  )
  const org = options.org ?? (env['PALISADE_ORG'] || (await ask(io, 'org', 'Organization', '')))
  const username =
    options.username ?? (env['PALISADE_USERNAME'] || (await ask(io, 'username', 'User name', '')))
  return { server, org, username, token: await readToken(io, options) }
}

async function ask(io: Io, option: string, message: string, initial: string): Promise<string> {
  const { prompts } = io
  if (prompts === null)
    throw usageError(
      `not a terminal, and \`--${option}\` is missing; write it, or set its variable`,
    )
  return untilAnswered(() => prompts.text(message, initial))
}

async function readToken(io: Io, options: LoginOptions): Promise<string> {
  if (options.tokenStdin === true) return readSecretLine(io, 'token')
  const given = io.env['PALISADE_TOKEN']
  if (given !== undefined && given !== '') return given
  const { prompts } = io
  if (prompts === null)
    throw usageError('not a terminal; write `--token-stdin` and pipe the token in')
  return untilAnswered(() => prompts.secret('Token or password'))
}

/** Repeats the question after an empty answer, which is a slip. */
async function untilAnswered(question: () => Promise<string | null>): Promise<string> {
  for (;;) {
    const answer = await question()
    if (answer === null) throw new CliError('ERR_CANCELLED', EXIT.failed, 'cancelled')
    if (answer !== '') return answer
  }
}

async function warnClearText({ io, style }: RunContext, server: string): Promise<void> {
  const { protocol, hostname } = new URL(server)
  if (protocol === 'https:' || isLoopbackHost(hostname)) return
  await write(
    io.stderr,
    `${style.plain(`warning: ${server} is not encrypted; eavesdroppers can read the token`)}\n`,
  )
}

function isLoopbackHost(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true
  return isIP(hostname) === 4 && hostname.startsWith('127.')
}
