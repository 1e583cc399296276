import type { AuditFilter } from '@palisade/client'
import {
  ASSURANCE_FILTERS,
  formatAuditCsv,
  formatAuditCsvHead,
  type AssuranceFilter,
  type AuditActionType,
  type AuditEvent,
} from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { setTimeout as pause } from 'node:timers/promises'
import { connectOrganization } from '../../account/connect-server.ts'
import { describeStart, parseInstant } from '../../options/parse-instant.ts'
import { usageError } from '../../runtime/cli-error.ts'
import type { RunContext } from '../../runtime/run-context.ts'
import { write } from '../../runtime/write.ts'
import { jsonLine } from '../../terminal/printable.ts'
import { WIDE } from '../../terminal/style.ts'
import { formatAuditEvent, formatAuditHead } from './format-audit-event.ts'

const PAGE = 500
const FOLLOW_MS = 2_000
/** Machines upload once a minute, so that decisions arrive out of order. */
const FOLLOWED_MS = 15 * 60_000

interface AuditOptions {
  readonly since: string
  readonly until?: string
  readonly user?: string
  readonly device?: string
  readonly session?: string
  readonly decision?: string
  readonly shadow?: string
  readonly action?: string
  readonly target?: string
  readonly text?: string
  readonly program?: string
  readonly rule?: string
  readonly mode?: string
  readonly assurance?: AssuranceFilter
  readonly limit: string
  readonly follow?: true
  readonly csv?: true
  readonly json?: true
}

/** `palisade audit` */
export function addAuditCommand(program: Command, context: RunContext): void {
  program
    .command('audit')
    .summary('show the decisions on the machines of the organization')
    .description(
      'Show the decisions that machines have uploaded, the newest first. Equal decisions of one ' +
        'device in one minute are one line.',
    )
    .option('--since <when>', 'start of the period: an age such as 7d, or RFC 3339', '1d')
    .option('--until <when>', 'end of the period, at most 30 days after its start')
    .option('--user <name>', 'user of the device')
    .option('--device <id>', 'one device, as `palisade device list` shows it')
    .option('--session <id>', 'one sandbox, or one start of an agent')
    .option('--decision <decision>', '`allow` or `deny`')
    .option('--shadow <decision>', 'other decision with the shadow policies, `allow` or `deny`')
    .option('--action <action>', '`network` or `files`')
    .option('--target <start>', 'the start of the target: `example.com:443`, or `/data/`')
    .option('--text <part>', 'a part of the target, 3 characters at least')
    .option('--program <path>', 'executable of the program')
    .option('--rule <id>', 'a rule that decided')
    .option('--mode <mode>', '`enforce`, or `audit` for requests allowed by `default: observe`')
    .addOption(
      new Option(
        '--assurance <class>',
        'devices now of this assurance class, or of a weaker one with `<` before it',
      ).choices(ASSURANCE_FILTERS),
    )
    .option('--limit <number>', 'maximum number of lines; `all` for no limit', '100')
    .option('-f, --follow', 'go on with the decisions that arrive, the oldest first, until Ctrl-C')
    .option('--csv', 'print comma-separated values (RFC 4180)')
    .option(...WIDE)
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      `
The settings of the organization choose the records that machines upload: see
\`palisade org set --help\`.
\`--follow\` leaves out decisions that arrive more than 15 minutes after their time, such as those
of a machine that was offline.
Without the permission \`audit:read\` you see the decisions on your own machines. Reading those of
others is itself in the history (\`palisade events\`).

Examples:
  palisade audit --decision deny
  palisade audit --user bob --since 7d --target registry.npmjs.org
  palisade audit --follow --decision deny
  palisade audit --shadow deny
  palisade audit --since 30d --limit all --csv > decisions.csv
  palisade audit --rule rule_06h1… --limit all --json | jq .payload.resource_id`,
    )
    .action(async (options: AuditOptions) => {
      const filter = readFilter(options, context.io.now())
      const most = readLimit(options.limit)
      const print = createPrinter(context, options)
      const { organization } = await connectOrganization(context.io)
      if (options.follow === true) return follow(organization.audit, filter, context, print)
      let printed = 0
      if (most > 0)
        for await (const event of organization.audit.list(filter, Math.min(most, PAGE))) {
          if (!(await print(event))) return
          printed += 1
          if (printed >= most) break
        }
      if (printed === 0) await print(null)
    })
}

type Print = (event: AuditEvent | null) => Promise<boolean>

/** Prints an event, or the absence of any. Returns false once the reader has gone. */
function createPrinter({ io, style }: RunContext, { csv, json, since }: AuditOptions): Print {
  let isFirst = true
  const format = (event: AuditEvent): string => {
    if (json === true) return jsonLine(event)
    return csv === true ? formatAuditCsv(event) : formatAuditEvent(event, style)
  }
  const head = (): string => {
    if (json === true) return ''
    return csv === true ? formatAuditCsvHead() : formatAuditHead(style)
  }
  return async (event) => {
    if (event === null) {
      if (json === true) return true
      if (csv === true) return write(io.stdout, formatAuditCsvHead())
      const advice = '`palisade org set --upload` chooses the records that machines upload'
      return write(io.stdout, `no decisions ${style.plain(describeStart(since))}; ${advice}\n`)
    }
    const before = isFirst ? head() : ''
    isFirst = false
    return write(io.stdout, before + format(event))
  }
}

/** Asks again for the last minutes, and prints the events that were not there before. */
async function follow(
  audit: { list(filter: AuditFilter, pageSize: number): AsyncIterable<AuditEvent> },
  filter: AuditFilter,
  { io }: RunContext,
  print: Print,
): Promise<void> {
  const signal = io.interruption()
  let known = new Set<string>()
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const from = new Date(io.now() - FOLLOWED_MS).toISOString()
    const { to: _to, ...rest } = filter
    const found: AuditEvent[] = []
    for await (const event of audit.list({ ...rest, from }, PAGE)) found.push(event)
    const fresh = found.filter(({ audit_event_id }) => !known.has(audit_event_id))
    known = new Set(found.map(({ audit_event_id }) => audit_event_id))
    // The events that are there already are for `palisade audit` without `--follow`.
    const shown = isFirst ? [] : fresh.toReversed()
    for (const event of shown) if (!(await print(event))) return
    await pause(FOLLOW_MS, undefined, { signal }).catch(() => {})
  }
}

const ACTION_TYPES: Readonly<Record<string, AuditActionType>> = {
  network: 'network_egress',
  files: 'filesystem_mount',
}
const MODES = { enforce: 'enforce', audit: 'audit' } as const
const DECISIONS = { allow: 'AUDIT_DECISION_ALLOW', deny: 'AUDIT_DECISION_DENY' } as const

function readFilter(options: AuditOptions, nowMs: number): AuditFilter {
  const { since, until, user, device, session, target, text, program, rule } = options
  const decision = readChoice('--decision', options.decision, DECISIONS)
  const shadow = readChoice('--shadow', options.shadow, DECISIONS)
  const action = readChoice('--action', options.action, ACTION_TYPES)
  const mode = readChoice('--mode', options.mode, MODES)
  if (text !== undefined && text.length < 3)
    throw usageError('`--text` must have at least 3 characters')
  const members = {
    from: parseInstant(since, '--since', nowMs),
    to: until === undefined ? undefined : parseInstant(until, '--until', nowMs),
    username: user,
    device_id: device,
    audit_session_id: session,
    decision,
    shadow,
    action_type: action,
    resource_id: target,
    query: text,
    agent: program,
    rule_id: rule,
    enforcement_mode: mode,
    assurance_class: options.assurance,
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function readChoice<Value>(
  option: string,
  written: string | undefined,
  choices: Readonly<Record<string, Value>>,
): Value | undefined {
  if (written === undefined) return undefined
  if (Object.hasOwn(choices, written)) return choices[written]
  const names = Object.keys(choices).map((name) => `\`${name}\``)
  throw usageError(`\`${option}\` must be ${names.join(' or ')}`)
}

function readLimit(text: string): number {
  if (text === 'all') return Number.POSITIVE_INFINITY
  const limit = Number(text)
  if (!/^\d{1,7}$/.test(text) || limit === 0)
    throw usageError('`--limit` must be `all`, or a whole number from 1 to 9999999')
  return limit
}
