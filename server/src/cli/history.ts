import { formatColumns } from './columns.ts'
import { CommandFailure } from './command-failure.ts'
import { createProgress } from './progress.ts'
import { withStore } from './with-store.ts'
import type { Config } from '../config/config.ts'
import { verifyHistory, type HistoryVerdict } from '../history/verify-history.ts'
import type { StoreReader } from '../store/store.ts'

export interface VerifyHistoryOptions {
  readonly org?: string
  readonly head?: string
  readonly json?: true
}

/** `verify-history`: every chain, or one; refused when one is not as it was written. */
export async function verifyHistoryCommand(
  config: Config,
  options: VerifyHistoryOptions,
): Promise<void> {
  const { org, head } = options
  if (head !== undefined && org === undefined)
    throw new CommandFailure('usage', '`--head` is of one organization; name it with `--org`')
  if (head !== undefined && !/^[0-9a-f]{64}$/.test(head))
    throw new CommandFailure('usage', '`--head` must be 64 lower-case hexadecimal digits')
  await withStore(config, 'existing', async (store) => {
    const verdicts = await store.read(async (reader) => {
      const found: HistoryVerdict[] = []
      for (const name of await organizationsOf(reader, org))
        found.push(
          await verifyHistory(reader, name, { noted: head, onProgress: reportProgress(name) }),
        )
      return found
    })
    const broken = verdicts.filter(({ intact }) => !intact)
    process.stdout.write(
      options.json === true
        ? `${JSON.stringify({ intact: broken.length === 0, organizations: verdicts })}\n`
        : formatIntact(verdicts),
    )
    if (broken.length > 0)
      throw new CommandFailure('refused', broken.map(describe).join('\npalisade-server: '))
  })
}

async function organizationsOf(reader: StoreReader, org: string | undefined): Promise<string[]> {
  if (org === undefined) {
    const names = await reader.organizations.names()
    if (names.length > 0) return names
    // Nothing was proved: a nightly job may look into the wrong directory, or the database be gone.
    throw new CommandFailure(
      'refused',
      'there is no organization, and so no history; check `PALISADE_DATA_DIR` and `DATABASE_URL`',
    )
  }
  if ((await reader.organizations.find(org)) === null)
    throw new CommandFailure('refused', `there is no organization \`${org}\``)
  return [org]
}

function reportProgress(org: string): (checked: number) => void {
  const tell = createProgress()
  return (checked) => tell(() => `${checked} events of \`${org}\` are intact so far`)
}

function formatIntact(verdicts: readonly HistoryVerdict[]): string {
  const rows = verdicts.flatMap((verdict) =>
    verdict.intact ? [[verdict.org, String(verdict.head.sequence), verdict.head.hash]] : [],
  )
  return rows.length === 0 ? '' : formatColumns([['ORGANIZATION', 'EVENTS', 'HEAD'], ...rows])
}

function describe(verdict: HistoryVerdict): string {
  if (verdict.intact) return ''
  const { org, sequence } = verdict
  const where = `history of \`${org}\``
  switch (verdict.damage) {
    case 'edited':
      return `${where}: event ${sequence} was edited`
    case 'removed':
      return `${where}: event ${sequence} was removed`
    case 'unlinked':
      return `${where}: event ${sequence} does not follow the one before; events were inserted, replaced or reordered`
    case 'truncated':
      return `${where}: event ${sequence} and all later ones were cut off`
    case 'appended':
      return `${where}: event ${sequence} was not written by the server`
    case 'missing':
      return `${where}: nothing is left of it`
    case 'other_history':
      return `${where}: no event has the noted head; all of it was written anew, or its end cut off`
  }
}
