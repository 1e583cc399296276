import { EVENT_KINDS, type EventKind, type HistoryEvent } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../account/connect-server.ts'
import { usageError } from '../cli-error.ts'
import { present, type RunContext } from '../run-context.ts'
import type { Style } from '../terminal/style.ts'
import { formatTable } from '../terminal/table.ts'

/** A long history is read from its first event on, so only what is asked for is fetched. */
const WEEK_MS = 7 * 24 * 60 * 60 * 1000

interface EventOptions {
  readonly kind?: EventKind
  readonly actor?: string
  readonly since?: string
  readonly until?: string
  readonly limit: string
  readonly json?: true
}

/** `palisade events` */
export function addEventsCommand(program: Command, context: RunContext): void {
  program
    .command('events')
    .summary('show what was changed, by whom')
    .description('Show the newest changes of the organization, the oldest of them first.')
    .addOption(new Option('--kind <kind>', 'one kind of change').choices(EVENT_KINDS))
    .option('--actor <actor>', '`user:NAME`, `organization:NAME:TOKEN_ID` or `operator`')
    .option('--since <instant>', 'from this RFC 3339 instant on (default: seven days ago)')
    .option('--until <instant>', 'before this RFC 3339 instant')
    .option('--limit <number>', 'how many at most', '50')
    .option('--json', 'print one JSON object, with the state before and after each change')
    .addHelpText(
      'after',
      `
Examples:
  palisade events
  palisade events --kind rule.deleted --since 2026-11-01T00:00:00Z
  palisade events --actor user:alice --limit 500 --json`,
    )
    .action(async ({ json, limit, ...options }: EventOptions) => {
      const most = readLimit(limit)
      const since = options.since ?? new Date(context.io.now() - WEEK_MS).toISOString()
      const filter = { ...options, since }
      const { organization } = await connectOrganization(context.io)
      const data: HistoryEvent[] = []
      for await (const event of organization.events.list(filter)) {
        data.push(event)
        if (data.length > most) data.shift()
      }
      await present(context, json, { data }, () => formatEvents(data, context.style))
    })
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d{1,5}$/.test(text) || limit === 0)
    throw usageError('`--limit` must be a whole number from 1 to 99999')
  return limit
}

function formatEvents(events: readonly HistoryEvent[], style: Style): string {
  if (events.length === 0) return 'no events\n'
  return formatTable(
    ['TIME', 'WHO', 'WHAT', 'NAME', 'FROM'],
    events.map(({ at, actor, kind, subject, address }) => {
      return [at, actor, kind, subject.name ?? subject.id, address ?? '']
    }),
    style,
  )
}
