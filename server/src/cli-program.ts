import { Argument, Command } from 'commander'
import { addBackup } from './cli-backup-program.ts'
import { copyCommand, type CopyOptions } from './cli-copy.ts'
import { enrolDeviceCommand, type EnrolOptions } from './cli-device.ts'
import { listKeysCommand, retireKeyCommand, rotateKeyCommand, type KeyOptions } from './cli-keys.ts'
import { verifyHistoryCommand, type VerifyHistoryOptions } from './cli-history.ts'
import {
  entitleOrganizationCommand,
  listOrganizationsCommand,
  showOrganizationCommand,
  type OrganizationOptions,
} from './cli-organization-settings.ts'
import { resetPasswordCommand, revokeUserCommand, type UserOptions } from './cli-user.ts'
import { createOrganizationCommand, initCommand, type InitOptions } from './cli-organization.ts'
import { readProcessConfig } from './config.ts'
import { systemSources } from './sources.ts'
import { listenForStop } from './stop-signals.ts'

const SETTINGS = `
Settings (environment):
  PALISADE_HOST                  address to listen on (127.0.0.1)
  PALISADE_PORT                  port to listen on, 0 for any free one (8420)
  PALISADE_DATA_DIR              directory of the database (.palisade)
  DATABASE_URL                   postgres://user:password@host/database, instead of the directory
  PALISADE_DATABASE_CONNECTIONS  connections to PostgreSQL that serve reads (10)
  PALISADE_PUBLIC_URL            origin under which devices reach the server (http(s)://host:port)
  PALISADE_TLS_CERT              PEM file of the certificate and those that lead to its authority;
                                 read again when it changes and at SIGHUP (plain HTTP)
  PALISADE_TLS_KEY               PEM file of its key, which others may not read
  PALISADE_ACCESS_TOKEN_MINUTES  life of an access token, 1 to 60 (15)
  PALISADE_OIDC_ISSUER           issuer whose access tokens are accepted for users of the same name,
                                 https URL exactly as in their iss (none)
  PALISADE_OIDC_AUDIENCE         what aud of its tokens must name; required with an issuer
  PALISADE_OIDC_USERNAME_CLAIM   claim that is the username; choose none that users can edit (sub)
  PALISADE_OIDC_TEAMS_CLAIM      claim with names or UUIDs of teams: a user of the issuer is in
                                 exactly these (teams are left alone)
  PALISADE_LOG_LEVEL             fatal, error, warn, info, debug, trace or silent (info)
  PALISADE_TRUST_PROXY           whose X-Forwarded-For is believed: off, addresses and ranges of
                                 proxies, or how many proxies stand in front of a port that
                                 nothing else reaches (off)
  PALISADE_STOP_DELAY_SECONDS    how long to serve after SIGTERM while /readyz answers 503, for
                                 load balancers to notice, 0 to 300 (0)
  PALISADE_WEBHOOK_NETWORKS      addresses and ranges that webhooks may reach besides the public
                                 internet; plain HTTP to loopback ones only (none)
  PALISADE_METRICS               on or off: whether there is /metrics (on)
  PALISADE_METRICS_TOKEN         bearer token that /metrics asks for (none)
  OTEL_EXPORTER_OTLP_ENDPOINT    collector that gets traces by OTLP over HTTP (no traces)
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT  the same, as the whole URL
  OTEL_TRACES_EXPORTER           otlp or none: traces though there is no endpoint, or none (none)
  OTEL_TRACES_SAMPLER_ARG        share of requests that are traced, 0 to 1 (1)
  OTEL_SERVICE_NAME              name of this server in traces (palisade-server)
  PALISADE_LAST_SEEN_SECONDS     last polls of devices are written so often, 0 for never (60)
  PALISADE_MAX_POLICIES          policies of an organization (100)
  PALISADE_MAX_RULES             rules of a policy (250)
  PALISADE_MAX_POLICY_BYTES      bytes of a policy as JSON (409600)

Examples:
  $ palisade-server init --org acme --owner alice
  $ palisade-server start
  $ PALISADE_PORT=9000 PALISADE_DATA_DIR=/var/lib/palisade palisade-server start`

/** The commands of `palisade-server`. Each throws ConfigError, CommandFailure or a bug. */
export function createProgram(): Command {
  const program = new Command('palisade-server')
    .description('the policy administration point: policies, accounts and signed distribution')
    .option('--debug', 'print the stack of an error')
    .addHelpText('after', SETTINGS)
    .exitOverride()

  addStart(program)
  addInit(program)
  addOrganization(program)
  addUser(program)
  addDevice(program)
  addVerifyHistory(program)
  addKeys(program)
  addBackup(program)
  addCopy(program)
  return program
}

function addStart(program: Command): void {
  program
    .command('start')
    .description('serve until SIGTERM or SIGINT; a second one ends at once')
    .action(async () => {
      // Loaded late: the other commands need no HTTP server, and start in half the time.
      const { startServer } = await import('./start-server.ts')
      await startServer(readProcessConfig(), systemSources(), listenForStop(endAtOnce))
    })
}

function addInit(program: Command): void {
  program
    .command('init')
    .description('make the first organization and its owner, and print their secrets once')
    .requiredOption('--org <name>', 'name of the organization')
    .requiredOption('--owner <user>', 'name of its owner')
    .option('--json', 'print one JSON object')
    .option('--if-empty', 'do nothing when there is an organization already')
    .addHelpText('after', '\nExample:\n  $ palisade-server init --org acme --owner alice --json')
    .action((options: InitOptions) => initCommand(readProcessConfig(), systemSources(), options))
}

function addOrganization(program: Command): void {
  const org = program.command('org').description('organizations')
  org
    .command('create')
    .description('add an organization; works while the server runs')
    .argument('<name>', 'name of the organization')
    .requiredOption('--owner <user>', 'name of its owner, who is made when new')
    .option('--without-governance', 'the organization may not use governance')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  $ palisade-server org create initech --owner bob --json')
    .action((name: string, options: { owner: string; withoutGovernance?: true; json?: true }) =>
      createOrganizationCommand(readProcessConfig(), systemSources(), { ...options, org: name }),
    )
  org
    .command('list')
    .description('show every organization')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  $ palisade-server org list')
    .action((options: OrganizationOptions) =>
      listOrganizationsCommand(readProcessConfig(), options),
    )
  org
    .command('show')
    .description('show one organization with its settings')
    .argument('<name>', 'name of the organization')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  $ palisade-server org show acme --json')
    .action((name: string, options: OrganizationOptions) =>
      showOrganizationCommand(readProcessConfig(), name, options),
    )
  for (const [verb, entitled, description] of [
    ['entitle', true, 'let an organization use governance, from the next request on'],
    ['unentitle', false, 'stop an organization from using governance, from the next request on'],
  ] as const)
    org
      .command(verb)
      .description(description)
      .argument('<name>', 'name of the organization')
      .addHelpText('after', `\nExample:\n  $ palisade-server org ${verb} initech`)
      .action((name: string) =>
        entitleOrganizationCommand(readProcessConfig(), systemSources(), { name, entitled }),
      )
}

function addUser(program: Command): void {
  const user = program.command('user').description('users, in an emergency')
  user
    .command('revoke')
    .description('end everything that a user could come in with, at once')
    .argument('<user>', 'name of the user')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Ends his password and sessions, his personal tokens, the organization tokens that he made, what was
made from any of these, and his machines in all organizations. He stays a member. What the issuer of
PALISADE_OIDC_ISSUER vouches for ends there, or when he is removed from the organization.

Example:
  $ palisade-server user revoke bob`,
    )
    .action((name: string, options: UserOptions) =>
      revokeUserCommand(readProcessConfig(), systemSources(), name, options),
    )
  user
    .command('reset-password')
    .description('give a user a new password, and print it once')
    .argument('<user>', 'name of the user')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Ends the sessions of the old password. Tokens stay; \`user revoke\` ends those.

Example:
  $ palisade-server user reset-password bob`,
    )
    .action((name: string, options: UserOptions) =>
      resetPasswordCommand(readProcessConfig(), systemSources(), name, options),
    )
}

function addDevice(program: Command): void {
  program
    .command('device')
    .description('machines')
    .command('enrol')
    .description('enrol a device and write its token file (mode 0600)')
    .requiredOption('--org <name>', 'organization of the device')
    .option('--user <user>', 'member who uses the device; nobody when left out')
    .requiredOption('--server <url>', 'origin under which the device reaches the server')
    .requiredOption('--out <file>', 'token file to write')
    .option('--force', 'replace the file when there is one')
    .option('--json', 'print one JSON object, without the token')
    .addHelpText(
      'after',
      '\nExample:\n  $ palisade-server device enrol --org acme --user alice --server https://palisade.example.com --out ./device.json',
    )
    .action((options: EnrolOptions) =>
      enrolDeviceCommand(readProcessConfig(), systemSources(), options),
    )
}

function addKeys(program: Command): void {
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

function addVerifyHistory(program: Command): void {
  program
    .command('verify-history')
    .description('prove that no event of the change history was edited, removed or inserted')
    .option('--org <name>', 'organization to check; all when left out')
    .option('--head <hash>', 'head that an earlier run printed, kept elsewhere since')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Prints the newest event and its hash, the head, of every organization, and exits with 1 naming the
first event that is not as it was written. Works while the server runs.

The chain finds every change by somebody who does not make all later hashes anew. Whoever can write
to the database can do that, so keep heads elsewhere and compare: a history that still has a noted
head is, up to there, what it was.

Examples:
  $ palisade-server verify-history
  $ palisade-server verify-history --org acme --head 9f2c…`,
    )
    .action((options: VerifyHistoryOptions) => verifyHistoryCommand(readProcessConfig(), options))
}

/** What was acknowledged is on disk; the rest is cut off. */
function endAtOnce(): never {
  process.stderr.write('palisade-server: ended by a second signal; running requests were cut off\n')
  process.exit(1)
}

function addCopy(program: Command): void {
  program
    .command('copy')
    .description('copy everything in one store to another, which must be empty')
    .requiredOption(
      '--from <store>',
      '`sqlite` (the data directory), `postgres` (DATABASE_URL), a path or a URL',
    )
    .requiredOption('--to <store>', 'the same')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
One snapshot is copied in one transaction, read again and compared. The source is only read, and
may be in use; stop its servers first, or what they accept meanwhile stays behind.

Examples:
  $ DATABASE_URL=postgres://palisade:secret@db/palisade palisade-server copy --from sqlite --to postgres
  $ palisade-server copy --from postgres://palisade:secret@db/palisade --to /var/lib/palisade/server.db`,
    )
    .action((options: CopyOptions) => copyCommand(readProcessConfig(), options))
}
