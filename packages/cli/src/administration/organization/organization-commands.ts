import { DEFAULT_DECISIONS, UPLOAD_MODES } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatOrganization } from './format-organization.ts'
import { readSettings, type SettingOptions } from './organization-settings.ts'

const ON_OFF = ['on', 'off'] as const

interface JsonOption {
  readonly json?: true
}

/** `palisade org show|set` */
export function addOrganizationCommands(program: Command, context: RunContext): void {
  const organization = program
    .command('org')
    .summary('settings of the organization')
    .description('Show and change the settings of the organization.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade org show
  palisade org set --default observe`,
    )
  addShow(organization, context)
  addSet(organization, context)
}

function addShow(parent: Command, context: RunContext): void {
  parent
    .command('show')
    .description('Show the organization and its settings.')
    .option('--json', 'print the organization as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade org show\n  palisade org show --json')
    .action(async (options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const body = await organization.get()
      await present(context, options.json, body, () => formatOrganization(body, context.style))
    })
}

function addSet(parent: Command, context: RunContext): void {
  parent
    .command('set')
    .description('Change settings of the organization; the others stay as they are.')
    .addOption(
      new Option(
        '--resolve-unlisted-names <on|off>',
        'whether machines look up names that no rule mentions, to decide by their addresses',
      ).choices(ON_OFF),
    )
    .addOption(
      new Option(
        '--default <decision>',
        'for requests that no rule matches: enforce denies, observe allows and records',
      ).choices([...DEFAULT_DECISIONS, 'none']),
    )
    .option('--support-message <text>', 'shown after each denial by the policies')
    .option('--no-support-message', 'no text after a denial')
    .option('--fresh-for <duration>', 'policies older than this are stale, and stay in force')
    .option('--expires-after <duration>', 'policies older than this deny everything')
    .option('--offline-allow <hosts...>', 'hosts that expired policies still allow')
    .option('--no-offline-allow', 'no host: expired policies deny everything')
    .addOption(
      new Option('--upload <mode>', 'which decision records machines upload').choices(UPLOAD_MODES),
    )
    .option('--sample-percent <n>', 'part of the allowed requests that `sampled` uploads')
    .option('--path-depth <n>', 'leading segments of a path that are uploaded; 0 for no path')
    .addOption(
      new Option('--upload-programs <on|off>', 'whether the executable is uploaded').choices(
        ON_OFF,
      ),
    )
    .addOption(
      new Option(
        '--upload-users <on|off>',
        'whether the user of the operating system is uploaded',
      ).choices(ON_OFF),
    )
    .option('--access-longest <duration>', 'longest time that a grant of access lasts')
    .option('--access-most-open <n>', 'grants of access that a user has at a time')
    .option('--access-answer-within <duration>', 'time until a request without an answer lapses')
    .option('--json', 'print the organization as the API returns it')
    .addHelpText(
      'after',
      `
Expired policies allow a host of \`--offline-allow\` only where their rules allow it too.
Under \`--default observe\` a matching deny and protected addresses still deny. Where organization
and teams of a user differ, enforce wins; with \`none\` only the choices of the teams count.
Machines keep all decision records; \`--upload\` is \`off\`, \`denials\`, \`sampled\` or \`full\`.

Examples:
  palisade org set --resolve-unlisted-names on
  palisade org set --default observe
  palisade org set --support-message 'Ask in #network, or call 4711'
  palisade org set --fresh-for 12h --expires-after 3d
  palisade org set --offline-allow git.example.com:443 registry.example.com:443
  palisade org set --no-offline-allow
  palisade org set --upload sampled --sample-percent 10
  palisade org set --upload full --path-depth 2 --upload-programs on
  palisade org set --access-longest 8h --access-most-open 5`,
    )
    .action(async (options: SettingOptions & JsonOption) => {
      const changed = readSettings(options)
      const { organization } = await connectOrganization(context.io)
      const body = await organization.update(changed)
      await present(context, options.json, body, () => formatOrganization(body, context.style))
    })
}
