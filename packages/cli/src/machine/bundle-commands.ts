import { MAX_BUNDLE_BYTES } from '@palisade/protocol'
import type { Command } from 'commander'
import { EXIT } from '../exit-code.ts'
import { readTextFile } from '../file-argument.ts'
import { present, type RunContext } from '../run-context.ts'
import { askAgent } from './agent.ts'
import { formatSyncResult } from './sync-command.ts'

/** `palisade bundle` */
export function addBundleCommands(program: Command, context: RunContext): void {
  const bundle = program
    .command('bundle')
    .summary('carry policies to a machine that does not reach the server')
    .description('Carry policies by hand to a machine that does not reach the server.')
    .helpCommand(false)
  addImportCommand(bundle, context)
}

function addImportCommand(bundle: Command, context: RunContext): void {
  bundle
    .command('import')
    .summary('put a bundle file into force on this machine')
    .description(
      'Let the agent of this machine judge a bundle file as if the server had sent it, and put it into force.',
    )
    .argument('<file>', 'what `palisade bundle export` wrote for this machine')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 updated or unchanged, 1 refused (the last good policies stay in force),
            2 the file cannot be read

Examples:
  palisade bundle import /media/usb/bundle.json
  palisade bundle import bundle.json --json`,
    )
    .action(async (file: string, options: { readonly json?: true }) => {
      const { io, style } = context
      const text = await readTextFile(io, file, MAX_BUNDLE_BYTES)
      const result = await askAgent(io, EXIT.failed, (agent) => agent.import(text))
      context.exit(result.outcome === 'failed' ? EXIT.failed : EXIT.ok)
      await present(context, options.json, result, () => formatSyncResult(result, style))
    })
}
