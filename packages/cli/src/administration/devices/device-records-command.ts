import type { DeviceRecords } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { findDeviceId } from '../../lookup/find-device.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { count } from '../../terminal/count.ts'
import { formatPairs } from '../../terminal/pairs.ts'
import type { Style } from '../../terminal/style.ts'

/** `palisade device records` */
export function addDeviceRecords(device: Command, context: RunContext, argument: string): void {
  device
    .command('records')
    .description(
      'Show how far the decision records of a machine are stored, and which are missing.',
    )
    .argument('<device>', argument)
    .option('--json', 'print the answer of the API')
    .addHelpText(
      'after',
      `
A gap: lines never arrived. A fork: two lines have one number, so two machines use one identity.
A rewind: the machine went on from an earlier line, or anew. \`head\` is that of
\`palisade log --verify\` on the machine, as long as it has recorded nothing since.

Examples:
  palisade device records laptop-12
  palisade device records 0b9f… --json`,
    )
    .action(async (written: string, { json }: { readonly json?: true }) => {
      const { organization } = await connectOrganization(context.io)
      const id = await findDeviceId(organization, written)
      const records = await organization.devices.records(id)
      await present(context, json, records, () => formatDeviceRecords(records, context.style))
    })
}

function formatDeviceRecords(records: DeviceRecords, style: Style): string {
  const { position, received_at, gaps, forks, rewinds, marked_at } = records
  if (position === null)
    return 'no upload yet; `palisade org set --upload` chooses the records that machines upload\n'
  const marks = [count(gaps, 'gap'), count(forks, 'fork'), count(rewinds, 'rewind')].join(', ')
  const isWhole = marked_at === null
  const losses = records.recent_losses.map(
    ({ reason, lost, last_at }) => `${lost} ${reason}, last at ${last_at}`,
  )
  return formatPairs(
    [
      ['stored up to', style.plain(`line ${position.seq} of boot ${position.boot}`)],
      ['head', style.plain(position.hash)],
      ['last upload', style.plain(received_at ?? '')],
      ['chain', isWhole ? style.good('whole') : style.bad(`${marks}; last at ${marked_at}`)],
      ['left out', style.plain(`${count(records.left_out, 'decision')} by the settings`)],
      ['lost', style.plain(count(records.lost, 'decision'))],
      ...losses.map((text) => ['', style.plain(text)] as const),
    ],
    style,
  )
}
