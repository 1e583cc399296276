import { formatColumns } from './columns.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import { createProgress } from './progress.ts'
import { withStore } from './with-store.ts'
import type { Config } from '../config/config.ts'
import {
  describeFaults,
  verifyOrganization,
  type OrganizationVerdict,
} from '../history/verify-organization.ts'
import type { StoreReader } from '../store/store.ts'

export interface VerifyHistoryOptions {
  readonly org?: string
  readonly head?: string
  readonly state?: true
  readonly json?: true
}

/**
 * `verify-history`: every chain, or one. Fails when an event is not as it was written, or when the
 * stored state is not as `--state` expects it.
 */
export async function verifyHistoryCommand(
  config: Config,
  options: VerifyHistoryOptions,
): Promise<void> {
  const { org, head } = options
  if (head !== undefined && org === undefined)
    throw new CommandFailure('usage', '`--head` belongs to one organization; name it with `--org`')
  if (head !== undefined && !/^[0-9a-f]{64}$/.test(head))
    throw new CommandFailure('usage', '`--head` must be 64 lower-case hexadecimal digits')
  await withStore(config, 'existing', async (store) => {
    const verdicts = await store.read(async (reader) => {
      const found: OrganizationVerdict[] = []
      for (const name of await organizationsOf(reader, org)) {
        const onProgress = reportProgress(name)
        const wanted = { noted: head, onProgress, state: options.state === true }
        found.push(await verifyOrganization(reader, name, wanted))
      }
      return found
    })
    process.stdout.write(
      options.json === true ? `${JSON.stringify(formatJson(verdicts))}\n` : formatIntact(verdicts),
    )
    const faults = verdicts.flatMap(describeFaults)
    if (faults.length > 0) throw new CommandFailure('refused', faults.join('\npalisade-server: '))
  })
}

function formatJson(verdicts: readonly OrganizationVerdict[]) {
  const organizations = verdicts.map(({ history, differences }) =>
    differences === null ? history : { ...history, differences },
  )
  return { intact: verdicts.every(({ history }) => history.intact), organizations }
}

async function organizationsOf(reader: StoreReader, org: string | undefined): Promise<string[]> {
  if (org === undefined) {
    const names = await reader.organizations.names()
    if (names.length > 0) return names
    // A failure, so that a nightly job notices a wrong directory or a lost database.
    throw new CommandFailure(
      'refused',
      'there is no organization, so no history; check `PALISADE_DATA_DIR` and `DATABASE_URL`',
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

function formatIntact(verdicts: readonly OrganizationVerdict[]): string {
  const rows = verdicts.flatMap(({ history }) =>
    history.intact ? [[history.org, String(history.head.sequence), history.head.hash]] : [],
  )
  if (rows.length === 0) return ''
  const begins = verdicts.flatMap(({ history }) =>
    history.intact && history.removed_through !== undefined
      ? [`history of \`${history.org}\` begins after event ${history.removed_through}\n`]
      : [],
  )
  return formatColumns([['ORGANIZATION', 'EVENTS', 'HEAD'], ...rows]) + begins.join('')
}
