import { CommandFailure } from '../platform/command-failure.ts'
import { withStore } from './with-store.ts'
import type { Config } from '../config/config.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import { pruneHistory, type PruneOutcome } from '../history/prune-history.ts'
import type { Sources } from '../platform/sources.ts'

/** A day or an instant with its zone: without one it would be another time on each machine. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

export interface PruneHistoryOptions {
  readonly org: string
  readonly before: string
  readonly skipUndelivered?: true
  readonly json?: true
}

/** `history prune`. Refused when an event is not as it was written. */
export async function pruneHistoryCommand(
  config: Config,
  { now }: Pick<Sources, 'now'>,
  { org, before: date, skipUndelivered, json }: PruneHistoryOptions,
): Promise<void> {
  const before = readDate(date)
  await withStore(config, 'existing', async (store) => {
    if ((await store.read((reader) => reader.organizations.find(org))) === null)
      throw new CommandFailure('refused', `there is no organization \`${org}\``)
    const deps = { store: createAuditedStore({ store, now }), now }
    const limits = { before, undeliveredBefore: skipUndelivered === true ? before : '' }
    const outcome = await pruneHistory(deps, org, limits, OPERATOR)
    if (!outcome.ok)
      throw new CommandFailure(
        'refused',
        `history of \`${org}\`: event ${outcome.sequence} is damaged; run \`verify-history\``,
      )
    const { ok: _ok, ...told } = outcome
    process.stdout.write(
      json === true ? `${JSON.stringify({ org, ...told })}\n` : formatOutcome(org, outcome),
    )
  })
}

function readDate(text: string): string {
  const ms = DATE.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(ms)) return new Date(ms).toISOString()
  throw new CommandFailure(
    'usage',
    '`--before` must be a day or an instant such as `2026-01-01` or `2026-01-01T08:00:00Z`',
  )
}

function formatOutcome(org: string, outcome: Extract<PruneOutcome, { readonly ok: true }>): string {
  const { removed, skipped, waits } = outcome
  const lines = [`${removed} events of \`${org}\` removed`]
  for (const { webhook_id, events } of skipped)
    lines.push(`webhook ${webhook_id} will not get ${events} of them`)
  if (waits) lines.push('others wait for a webhook; remove them too with `--skip-undelivered`')
  return `${lines.join('\n')}\n`
}
