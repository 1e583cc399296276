import type { EventFilter } from '@palisade/client'
import { EVENT_KINDS, nearestName, type EventKind, type HistoryEvent } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { describeStart, parseInstant } from '../../options/parse-instant.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatTime, WIDE, type Style } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'

interface EventOptions {
  readonly kind?: string
  readonly actor?: string
  readonly since: string
  readonly until?: string
  readonly limit: string
  readonly json?: true
}

/** `palisade events` */
export function addEventsCommand(program: Command, context: RunContext): void {
  program
    .command('events')
    .summary('show changes and who made them')
    .description('Show the latest changes of the organization, the oldest first.')
    .option('--kind <kind>', 'one kind of change, such as rule.deleted')
    .option(
      '--actor <actor>',
      'a user’s name, `operator`, `server`, or `organization:NAME:TOKEN_ID`',
    )
    .option('--since <when>', 'start of the period: an age such as 30d, or RFC 3339', '7d')
    .option('--until <when>', 'end of the period')
    .option('--limit <number>', 'maximum number of changes', '50')
    .option(...WIDE)
    .option('--json', 'print one JSON object, with the state before and after each change')
    .addHelpText(
      'after',
      `
Kinds:
${formatKinds()}

Examples:
  palisade events
  palisade events --kind rule.deleted --since 2026-11-01T00:00:00Z
  palisade events --actor alice --since 30d --limit 500 --json`,
    )
    .action(async ({ json, limit, ...options }: EventOptions) => {
      const most = readLimit(limit)
      const filter = readFilter(options, context.io.now())
      const { organization } = await connectOrganization(context.io)
      const data: HistoryEvent[] = []
      for await (const event of organization.events.list(filter)) {
        data.push(event)
        if (data.length > most) data.shift()
      }
      await present(context, json, { data }, () => formatEvents(data, options.since, context.style))
    })
}

function readFilter(
  { kind, actor, since, until }: Omit<EventOptions, 'limit' | 'json'>,
  nowMs: number,
): EventFilter {
  return {
    ...(kind === undefined ? {} : { kind: parseKind(kind) }),
    ...(actor === undefined ? {} : { actor: parseActor(actor) }),
    since: parseInstant(since, '--since', nowMs),
    ...(until === undefined ? {} : { until: parseInstant(until, '--until', nowMs) }),
  }
}

function parseKind(written: string): EventKind {
  const known = EVENT_KINDS.find((kind) => kind === written)
  if (known !== undefined) return known
  const near = nearestName(written, EVENT_KINDS)
  const likely =
    near === null ? EVENT_KINDS.filter((kind) => subjectOf(kind) === subjectOf(written)) : [near]
  const mend =
    likely.length === 0
      ? '`palisade events --help` lists them'
      : `did you mean ${likely.map((kind) => `\`${kind}\``).join(' or ')}?`
  throw usageError(`unknown kind of change \`${written}\`; ${mend}`)
}

/** A name without a colon is a user's, except for `operator` and `server`. */
function parseActor(written: string): string {
  return written.includes(':') || written === 'operator' || written === 'server'
    ? written
    : `user:${written}`
}

function subjectOf(kind: string): string {
  return kind.split('.', 1)[0] ?? ''
}

/** Lists the kinds of one subject on one line. */
function formatKinds(): string {
  const subjects = [...new Set(EVENT_KINDS.map(subjectOf))]
  return subjects
    .map((subject) => EVENT_KINDS.filter((kind) => subjectOf(kind) === subject))
    .map((kinds) => `  ${kinds.join(', ')}`)
    .join('\n')
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d{1,5}$/.test(text) || limit === 0)
    throw usageError('`--limit` must be a whole number from 1 to 99999')
  return limit
}

function formatEvents(events: readonly HistoryEvent[], since: string, style: Style): string {
  if (events.length === 0)
    return style
      .plain(`no events ${describeStart(since)}; \`--since 90d\` looks further back`)
      .concat('\n')
  return formatTable(
    ['TIME', 'WHO', 'WHAT', 'NAME', { wide: 'FROM' }],
    events.map(({ at, actor, kind, subject, address }) => {
      return [formatTime(at, style), actor, kind, subject.name ?? subject.id, address ?? '']
    }),
    style,
  )
}
