import type { RevisionStatus } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatAge } from '../../terminal/age.ts'
import { formatPairs } from '../../terminal/pairs.ts'

/** `palisade revision` */
export function addRevisionCommand(program: Command, context: RunContext): void {
  program
    .command('revision')
    .summary('show which machines have a revision')
    .description('Show how many machines enforce a revision, reject it, or have not reported.')
    .argument('[revision]', 'number (default: the newest)')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Each machine is counted once. A silent machine has not been seen for 15 minutes.

Examples:
  palisade revision
  palisade revision 412 --json
  palisade device list --state rejected`,
    )
    .action(async (revision: string | undefined, { json }: { readonly json?: true }) => {
      if (revision !== undefined && !/^(?:0|[1-9]\d{0,14})$/.test(revision))
        throw usageError('the revision must be a whole number')
      const { organization } = await connectOrganization(context.io)
      const wanted = revision === undefined ? (await organization.get()).revision : Number(revision)
      const status = await organization.revisionStatus(wanted)
      await present(context, json, status, () => formatRevision(status, context))
    })
}

function formatRevision(status: RevisionStatus, { io, style }: RunContext): string {
  const { revision, current_revision, devices, applied, pending, silent, held_back } = status
  const newest = revision === current_revision ? 'the newest' : `the newest is ${current_revision}`
  const rejected = status.rejected_by_code.map((each) => `${each.devices} ${each.code}`).join(', ')
  return formatPairs(
    [
      ['revision', `${revision} (${newest})`],
      ['counted', formatAge(status.counted_at, io.now())],
      ['devices', `${devices}`],
      ['applied', `${applied}`],
      ['rejected', style.plain(`${status.rejected}${rejected === '' ? '' : ` (${rejected})`}`)],
      ['pending', `${pending}`],
      ['silent', `${silent}`],
      ...(held_back === undefined
        ? []
        : [['held back', `${held_back} by a rollout (palisade rollout show)`] as const]),
    ],
    style,
  )
}
