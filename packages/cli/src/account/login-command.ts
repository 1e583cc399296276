import { createServerClient, parseServerUrl } from '@palisade/client'
import type { Command } from 'commander'
import { isIP } from 'node:net'
import { CliError, usageError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { present, type RunContext } from '../run-context.ts'
import { write } from '../terminal/write.ts'
import { credentialsPath, deleteCredentials, writeCredentials } from './credentials-file.ts'
import type { StoredCredentials } from './credentials.ts'
import { readSecretLine } from './read-secret.ts'

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
    .description('Verify a token or password with the server and keep it for later commands.')
    .option('--server <url>', 'base of the server, such as http://127.0.0.1:8420')
    .option('--org <name>', 'organization to administer')
    .option('--username <name>', "user, or the organization's name for an organization token")
    .option('--token-stdin', 'read the token from standard input instead of asking')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
What is missing is asked on a terminal. The token is kept in credentials.json (mode 0600) in
$PALISADE_CONFIG_DIR, by default ~/.config/palisade. PALISADE_SERVER, PALISADE_ORG,
PALISADE_USERNAME and PALISADE_TOKEN override what is kept.

Examples:
  palisade login
  palisade login --server http://127.0.0.1:8420 --org acme --username alice --token-stdin < token`,
    )
    .action(async (options: LoginOptions) => {
      const { io, style } = context
      const account = await completeAccount(io, options)
      await warnClearText(context, account.server)
      await createServerClient({
        server: account.server,
        credentials: { username: account.username, secret: account.token },
        fetch: io.fetch,
      }).authenticate()
      const file = credentialsPath(io)
      await writeCredentials(file, account)
      const { server, org, username } = account
      await present(context, options.json, { server, org, username, file }, () =>
        style.plain(`signed in to ${server} as ${username}, organization ${org}`).concat('\n'),
      )
    })
}

/** `palisade logout` */
export function addLogoutCommand(program: Command, context: RunContext): void {
  program
    .command('logout')
    .summary('forget the stored token')
    .description('Delete the stored credentials. The token itself stays valid until it is revoked.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade logout')
    .action(async (options: { readonly json?: true }) => {
      const removed = await deleteCredentials(credentialsPath(context.io))
      await present(context, options.json, { signed_out: removed }, () =>
        removed ? 'signed out\n' : 'nobody was signed in\n',
      )
    })
}

async function completeAccount(io: Io, options: LoginOptions): Promise<StoredCredentials> {
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
  if (io.prompts === null) throw usageError(`\`--${option}\` is missing and nobody can be asked`)
  return answered(await io.prompts.text(message, initial), `\`--${option}\``)
}

async function readToken(io: Io, options: LoginOptions): Promise<string> {
  if (options.tokenStdin === true) return readSecretLine(io, 'token')
  const given = io.env['PALISADE_TOKEN']
  if (given !== undefined && given !== '') return given
  if (io.prompts === null)
    throw usageError('nobody can be asked for the token; write `--token-stdin` and pipe it in')
  return answered(await io.prompts.secret('Token or password'), 'the token')
}

function answered(answer: string | null, what: string): string {
  if (answer === null) throw new CliError('ERR_CANCELLED', EXIT.failed, 'cancelled')
  if (answer === '') throw usageError(`${what} must not be empty`)
  return answer
}

async function warnClearText({ io, style }: RunContext, server: string): Promise<void> {
  const { protocol, hostname } = new URL(server)
  if (protocol === 'https:' || isLoopbackHost(hostname)) return
  await write(
    io.stderr,
    `${style.plain(`warning: ${server} is not encrypted; others on the way can read the token`)}\n`,
  )
}

function isLoopbackHost(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true
  return isIP(hostname) === 4 && hostname.startsWith('127.')
}
