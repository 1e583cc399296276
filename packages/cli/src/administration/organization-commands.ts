import {
  ACCESS_SECONDS,
  MAX_DEVICE_GRANTS,
  DEFAULT_DECISIONS,
  MAX_PATH_DEPTH,
  UPLOAD_MODES,
  type AccessSettings,
  type ChangedAccessSettings,
  type ChangedEvidenceSettings,
  type DefaultDecision,
  type EvidenceSettings,
  type OrganizationBody,
  type UpdateOrganizationRequest,
  type UploadMode,
} from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../account/connect-server.ts'
import { usageError } from '../cli-error.ts'
import { formatDuration, parseDuration } from '../duration.ts'
import { present, type RunContext } from '../run-context.ts'
import { formatPairs } from '../terminal/pairs.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
const ON_OFF = ['on', 'off'] as const

interface JsonOption {
  readonly json?: true
}

type Switch = 'on' | 'off'

interface EvidenceOptions {
  readonly upload?: UploadMode
  readonly samplePercent?: string
  readonly pathDepth?: string
  readonly uploadPrograms?: Switch
  readonly uploadUsers?: Switch
}

interface AccessOptions {
  readonly accessLongest?: string
  readonly accessMostOpen?: string
  readonly accessAnswerWithin?: string
}

interface SetOptions extends JsonOption, EvidenceOptions, AccessOptions {
  readonly resolveUnlistedNames?: Switch
  readonly default?: DefaultDecision | 'none'
  /** False for `--no-support-message`. */
  readonly supportMessage?: string | false
  readonly freshFor?: string
  readonly expiresAfter?: string
  /** False for `--no-offline-allow`. */
  readonly offlineAllow?: readonly string[] | false
}

/** `palisade org show|set` */
export function addOrganizationCommands(program: Command, context: RunContext): void {
  const organization = program
    .command('org')
    .summary('settings of the organization')
    .description('Show and change the settings of the organization.')
    .helpCommand(false)
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
      await present(context, options.json, body, () => formatOrganization(body, context))
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
    .action(async (options: SetOptions) => {
      const changed = readChanges(options)
      const { organization } = await connectOrganization(context.io)
      const body = await organization.update(changed)
      await present(context, options.json, body, () => formatOrganization(body, context))
    })
}

function readChanges(options: SetOptions): UpdateOrganizationRequest {
  const { resolveUnlistedNames, default: chosen, supportMessage } = options
  const distribution = readDistribution(options)
  const evidence = readEvidence(options)
  const access = readAccess(options)
  const changed = {
    ...(resolveUnlistedNames === undefined
      ? {}
      : { resolve_unlisted_names: resolveUnlistedNames === 'on' }),
    ...(chosen === undefined ? {} : { default: chosen === 'none' ? null : chosen }),
    ...(supportMessage === undefined ? {} : { support_message: supportMessage || null }),
    ...(Object.keys(distribution).length === 0 ? {} : { distribution }),
    ...(Object.keys(evidence).length === 0 ? {} : { evidence }),
    ...(Object.keys(access).length === 0 ? {} : { access }),
  }
  if (Object.keys(changed).length === 0)
    throw usageError('write a setting to change, such as `--fresh-for 12h`')
  return changed
}

function readDistribution({ freshFor, expiresAfter, offlineAllow }: SetOptions) {
  return {
    ...(freshFor === undefined
      ? {}
      : {
          fresh_for_seconds: parseDuration(freshFor, '--fresh-for', {
            least: HOUR,
            most: 30 * DAY,
          }),
        }),
    ...(expiresAfter === undefined
      ? {}
      : {
          expires_after_seconds: parseDuration(expiresAfter, '--expires-after', {
            least: HOUR,
            most: 90 * DAY,
          }),
        }),
    ...(offlineAllow === undefined ? {} : { offline_allow: [...(offlineAllow || [])] }),
  }
}

function readEvidence(options: EvidenceOptions): ChangedEvidenceSettings {
  const { upload, samplePercent, pathDepth, uploadPrograms, uploadUsers } = options
  return {
    ...(upload === undefined ? {} : { upload }),
    ...(samplePercent === undefined
      ? {}
      : { sample_percent: readCount(samplePercent, '--sample-percent', 1, 100) }),
    ...(pathDepth === undefined
      ? {}
      : { path_depth: readCount(pathDepth, '--path-depth', 0, MAX_PATH_DEPTH) }),
    ...(uploadPrograms === undefined ? {} : { programs: uploadPrograms === 'on' }),
    ...(uploadUsers === undefined ? {} : { users: uploadUsers === 'on' }),
  }
}

function readAccess(options: AccessOptions): ChangedAccessSettings {
  const { accessLongest, accessMostOpen, accessAnswerWithin } = options
  const limits = { least: ACCESS_SECONDS.min, most: ACCESS_SECONDS.max }
  return {
    ...(accessLongest === undefined
      ? {}
      : { longest_seconds: parseDuration(accessLongest, '--access-longest', limits) }),
    ...(accessMostOpen === undefined
      ? {}
      : { most_open: readCount(accessMostOpen, '--access-most-open', 0, MAX_DEVICE_GRANTS) }),
    ...(accessAnswerWithin === undefined
      ? {}
      : {
          answer_within_seconds: parseDuration(
            accessAnswerWithin,
            '--access-answer-within',
            limits,
          ),
        }),
  }
}

function readCount(text: string, option: string, least: number, most: number): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw usageError(`\`${option} ${text}\` must be a whole number from ${least} to ${most}`)
}

function formatOrganization(body: OrganizationBody, { style }: RunContext): string {
  const { fresh_for_seconds, expires_after_seconds, offline_allow } = body.distribution
  return formatPairs(
    [
      ['organization', style.plain(body.name)],
      [
        'governance',
        body.entitled ? 'on' : style.warning('off: an operator of the server turns it on'),
      ],
      ['revision', `${body.revision}`],
      ['created', style.plain(body.created_at)],
      ['resolve unlisted names', body.resolve_unlisted_names ? 'on' : 'off'],
      ['default', formatDefault(body, style)],
      ['support message', style.plain(body.support_message ?? 'no text')],
      ['fresh for', formatDuration(fresh_for_seconds)],
      ['expires after', formatDuration(expires_after_seconds)],
      ['offline allow', offline_allow.map(style.plain).join(', ') || 'no host'],
      ...formatEvidence(body.evidence),
      ...formatAccess(body.access),
    ],
    style,
  )
}

function formatDefault({ default: chosen }: OrganizationBody, style: RunContext['style']): string {
  if (chosen === 'observe')
    return style.warning('observe: requests that no rule matches are allowed and recorded')
  return chosen ?? 'enforce, unless teams of a user choose observe'
}

function formatAccess(settings: AccessSettings): [string, string][] {
  const { longest_seconds, most_open, answer_within_seconds } = settings
  return [
    ['access lasts', `at most ${formatDuration(longest_seconds)}`],
    ['access grants', `at most ${most_open} of a user at a time`],
    ['access answered', `within ${formatDuration(answer_within_seconds)}`],
  ]
}

/** Only the mode while the upload is off. */
function formatEvidence(settings: EvidenceSettings): [string, string][] {
  const { upload, sample_percent, path_depth, programs, users } = settings
  if (upload === 'off') return [['upload', 'off: decision records stay on the machines']]
  const part = upload === 'sampled' ? `: denials, and ${sample_percent} % of the allowed` : ''
  return [
    ['upload', `${upload}${part}`],
    ['uploaded paths', path_depth === 0 ? 'none' : `the first ${path_depth} segments`],
    ['uploaded programs', programs ? 'yes' : 'no'],
    ['uploaded users', users ? 'yes' : 'no'],
  ]
}
