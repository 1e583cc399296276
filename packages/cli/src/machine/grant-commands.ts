import { GRANT_LIMITS, type OutstandingGrant } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../account/connect-server.ts'
import { findDeviceId } from '../lookup/find-device.ts'
import { formatDuration, parseDuration } from '../options/duration.ts'
import { resolveFile } from '../runtime/file-argument.ts'
import { replaceFile } from '../runtime/replace-file.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { formatAge } from '../terminal/age.ts'
import { formatTable } from '../terminal/table.ts'

interface IssueOptions {
  readonly reason: string
  readonly for: string
  readonly useWithin: string
  readonly out: string
  readonly json?: true
}

/** `palisade break-glass issue|list` */
export function addGrantCommands(breakGlass: Command, context: RunContext): void {
  addIssue(breakGlass, context)
  addList(breakGlass, context)
}

function addIssue(breakGlass: Command, context: RunContext): void {
  breakGlass
    .command('issue')
    .summary('write a grant for one machine to a file')
    .description(
      'Issue a grant that lets one machine apply its expired policies once, for a while.',
    )
    .argument('<device>', 'id that `palisade device list` shows, or its beginning')
    .requiredOption('--reason <text>', 'why; shown on the machine and kept in the history')
    .requiredOption('--for <duration>', 'how long it lasts once begun, 1m to 1d')
    .option('--use-within <duration>', 'how long it can be begun, 1m to 30d', '1d')
    .requiredOption('--out <file>', 'grant file; replaced when it exists')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Needs the permission \`organization:admin\`. The file is valid on that machine only, and once. It
allows no request that the machine's newest policies do not allow.

Examples:
  palisade break-glass issue 0b9f… --reason "office is offline" --for 4h --out grant.json`,
    )
    .action(async (written: string, options: IssueOptions) => {
      const { io, style } = context
      const { minDuration, maxDuration, minUseWithin, maxUseWithin } = GRANT_LIMITS
      const request = {
        reason: options.reason,
        duration_seconds: parseDuration(options.for, '--for', {
          least: minDuration,
          most: maxDuration,
        }),
        use_within_seconds: parseDuration(options.useWithin, '--use-within', {
          least: minUseWithin,
          most: maxUseWithin,
        }),
      }
      const path = resolveFile(io, options.out)
      const { organization } = await connectOrganization(io)
      const id = await findDeviceId(organization, written)
      const grant = await organization.devices.issueGrant(id, request)
      await replaceFile(path, options.out, `${JSON.stringify(grant)}\n`)
      const { id: grantId, use_by, duration_seconds } = grant.signed
      const shown = { file: options.out, device_id: id, id: grantId, use_by, duration_seconds }
      await present(context, options.json, shown, () =>
        style
          .plain(
            `wrote grant ${grantId} to ${options.out}: begin it before ${use_by}; ` +
              `it lasts ${formatDuration(duration_seconds)}`,
          )
          .concat('\n'),
      )
    })
}

function addList(breakGlass: Command, context: RunContext): void {
  breakGlass
    .command('list')
    .summary('list the unused and active grants of a machine')
    .description('List the grants of one machine that can still be begun or may be in force.')
    .argument('<device>', 'id that `palisade device list` shows, or its beginning')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The history has all grants: \`palisade events --kind break_glass.issued\`.

Examples:
  palisade break-glass list 0b9f…`,
    )
    .action(async (device: string, options: { readonly json?: true }) => {
      const { organization } = await connectOrganization(context.io)
      const data = await organization.devices.grants(await findDeviceId(organization, device))
      await present(context, options.json, { data }, () => formatGrants(data, context))
    })
}

function formatGrants(grants: readonly OutstandingGrant[], { io, style }: RunContext): string {
  if (grants.length === 0) return 'no grant can be begun or is known to be in force\n'
  const age = (instant: string): string => formatAge(instant, io.now())
  return formatTable(
    ['GRANT', 'REASON', 'ISSUED BY', 'ISSUED', 'USE BY', 'FOR', 'BEGUN'],
    grants.map((each) => [
      each.id,
      each.reason,
      each.issued_by,
      age(each.issued_at),
      age(each.use_by),
      formatDuration(each.duration_seconds),
      each.begun_at === undefined ? '' : age(each.begun_at),
    ]),
    style,
  )
}
