import type { ExportResponse } from '@palisade/protocol'
import type { Command } from 'commander'
import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { connectOrganization } from '../account/connect-server.ts'
import { usageError } from '../cli-error.ts'
import { readTextFile, resolveFile, unreadable } from '../file-argument.ts'
import type { RunContext } from '../run-context.ts'
import { write } from '../terminal/write.ts'
import { composeYaml } from './compose-yaml.ts'
import { loadSources, MAX_FILE_BYTES } from './load-sources.ts'
import { formatDocument, renderJson, renderYaml } from './render-policies.ts'
import { replaceFile } from './replace-file.ts'
import { updateDocument } from './update-document.ts'

type Format = 'json' | 'yaml'

interface ExportOptions {
  readonly format?: string
  readonly out?: string
}

/** `palisade export` */
export function addExportCommand(program: Command, context: RunContext): void {
  program
    .command('export')
    .summary("write the organization's policies as a file")
    .description(
      "Write all of the organization's policies in the form that `palisade apply` reads: to standard output, or to a file.",
    )
    .option('--format <format>', 'yaml or json (default: by the name of the file, otherwise yaml)')
    .option('--out <file>', 'file to write; a YAML file that is there keeps its comments')
    .addHelpText(
      'after',
      `
A YAML file that is there is brought up to date: its comments, the order of its policies and the way
things are written stay where the library can keep them.

Examples:
  palisade export > policies.yaml
  palisade export --out policies/all.yaml
  palisade export --format json`,
    )
    .action(async (options: ExportOptions) => {
      const format = readFormat(options)
      const { organization } = await connectOrganization(context.io)
      const exported = await organization.policySet.export()
      if (options.out === undefined) {
        await write(context.io.stdout, render(exported, format))
        return
      }
      const text = await renderFor(context, options.out, exported, format)
      await replaceFile(resolveFile(context.io, options.out), options.out, text)
      const count = `${exported.policies.length} policies of revision ${exported.revision}`
      await write(context.io.stdout, context.style.plain(`${options.out}: ${count}`).concat('\n'))
    })
}

function readFormat({ format, out }: ExportOptions): Format {
  const byName = out === undefined ? undefined : extname(out) === '.json' ? 'json' : 'yaml'
  if (format === undefined) return byName ?? 'yaml'
  if (format !== 'json' && format !== 'yaml')
    throw usageError(`unknown format \`${format}\`; write \`yaml\` or \`json\``)
  if (byName !== undefined && byName !== format)
    throw usageError(`\`--format ${format}\` does not fit the file \`${out ?? ''}\``)
  return format
}

function render({ policies }: ExportResponse, format: Format): string {
  return format === 'json' ? renderJson(policies) : renderYaml(policies)
}

/** A file that cannot be read as policies is not ours to replace. */
async function renderFor(
  { io }: RunContext,
  out: string,
  exported: ExportResponse,
  format: Format,
): Promise<string> {
  const status = await statOf(resolveFile(io, out))
  if (status === null) return render(exported, format)
  // Before it is opened: a pipe would be waited for, and a rename would make a file of a device.
  if (!status.isFile()) throw unreadable(out, 'is not an ordinary file; name another')
  await loadSources(io, [out])
  if (format === 'json') return render(exported, format)
  const documents = composeYaml(await readTextFile(io, out, MAX_FILE_BYTES))
  const [document] = documents
  if (document === undefined || documents.length > 1)
    throw unreadable(out, 'holds several documents; export to a file of one')
  const ids = new Map(exported.teams.flatMap(({ id, name }) => [[name, id] as const]))
  const idOf = (team: string): string => ids.get(team) ?? team.toLowerCase()
  updateDocument(document, exported.policies, (a, b) => a === b || idOf(a) === idOf(b))
  return formatDocument(document)
}

async function statOf(path: string): Promise<Stats | null> {
  try {
    return await stat(path)
  } catch {
    return null
  }
}
