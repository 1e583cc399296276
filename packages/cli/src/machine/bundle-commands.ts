import { MAX_BUNDLE_BYTES } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../account/connect-server.ts'
import { askAgent } from '../agent/ask-agent.ts'
import { findDeviceId } from '../lookup/find-device.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { readTextFile, resolveFile } from '../runtime/file-argument.ts'
import { replaceFile } from '../runtime/replace-file.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { exitCodeOfSync, formatSyncResult } from './sync-command.ts'

interface ExportOptions {
  readonly device: string
  readonly out: string
  readonly json?: true
}

/** `palisade bundle` */
export function addBundleCommands(program: Command, context: RunContext): void {
  const bundle = program
    .command('bundle')
    .summary('carry policies to a machine that cannot reach the server')
    .description('Carry policies by hand to a machine that cannot reach the server.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade bundle export --device 0b9f… --out /media/usb/bundle.json
  palisade bundle import /media/usb/bundle.json`,
    )
  addExportCommand(bundle, context)
  addImportCommand(bundle, context)
}

function addExportCommand(bundle: Command, context: RunContext): void {
  bundle
    .command('export')
    .summary('write the signed files that a machine would fetch now')
    .description(
      'Write the signed files that one machine would fetch now to a bundle file. ' +
        'Only that machine accepts it.',
    )
    .requiredOption('--device <id>', 'id that `palisade device list` shows, or its beginning')
    .requiredOption('--out <file>', 'bundle file; replaced when it exists')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The machine accepts the file until its policies are stale: for a day, unless the organization has
set another time.

Examples:
  palisade bundle export --device 0b9f… --out /media/usb/bundle.json`,
    )
    .action(async ({ device: written, out, json }: ExportOptions) => {
      const { io, style } = context
      const path = resolveFile(io, out)
      const { organization } = await connectOrganization(io)
      const device = await findDeviceId(organization, written)
      const exported = await organization.devices.bundle(device)
      await replaceFile(path, out, `${JSON.stringify(exported)}\n`)
      const files = Object.keys(exported.files).length
      await present(context, json, { file: out, device_id: device, files }, () =>
        style.plain(`wrote ${files} signed files for device ${device} to ${out}`).concat('\n'),
      )
    })
}

function addImportCommand(bundle: Command, context: RunContext): void {
  bundle
    .command('import')
    .summary('put a bundle file into force on this machine')
    .description(
      'Let the agent of this machine verify a bundle file as if it came from the server, ' +
        'and put it into force.',
    )
    .argument('<file>', 'bundle file that `palisade bundle export` wrote for this machine')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 updated or unchanged, 1 refused (the last good policies stay in force), or everything
            is denied, 2 the file cannot be read

Examples:
  palisade bundle import /media/usb/bundle.json
  palisade bundle import bundle.json --json`,
    )
    .action(async (file: string, options: { readonly json?: true }) => {
      const { io, style } = context
      const text = await readTextFile(io, file, MAX_BUNDLE_BYTES)
      const result = await askAgent(io, EXIT.failed, (agent) => agent.import(text))
      context.exit(exitCodeOfSync(result))
      await present(context, options.json, result, () => formatSyncResult(result, style))
    })
}
