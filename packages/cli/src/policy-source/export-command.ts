import type { ExportResponse } from '@palisade/protocol'
import type { Command } from 'commander'
import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { connectOrganization } from '../account/connect-server.ts'
import { formatOf } from '../policy-file/list-source-files.ts'
import { loadSources } from '../policy-file/load-sources.ts'
import { renderJson, renderYaml } from '../policy-file/render-policies.ts'
import { createSameTeam, updateFile } from '../policy-file/update-file.ts'
import { usageError } from '../runtime/cli-error.ts'
import { resolveFile, unreadable } from '../runtime/file-argument.ts'
import { replaceFile } from '../runtime/replace-file.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { exportToDirectory, type DirectoryChanges } from './export-directory.ts'

type Format = 'json' | 'yaml'

interface ExportOptions {
  readonly format?: string
  readonly out?: string
  readonly prune?: true
}

/** `palisade export` */
export function addExportCommand(program: Command, context: RunContext): void {
  program
    .command('export')
    .summary("write the organization's policies as files")
    .description(
      "Write all of the organization's policies in the format of `palisade apply`: " +
        'to standard output, to a file, or to a directory with a file for each.',
    )
    .option('--format <format>', 'yaml or json (default: by the name of the file, otherwise yaml)')
    .option('--out <path>', 'file or directory to write; a path that ends in / creates a directory')
    .option('--prune', 'remove from a directory the policies that the server does not have')
    .addHelpText(
      'after',
      `
An existing file is updated: a YAML file keeps its comments, the order of its policies and its
formatting where the library supports that.

In a directory a policy stays in its file, and a new policy gets a file of its own, named after it
and in the format of --format. Files that are up to date are not touched. Policies that the server
does not have are an error, which names them, unless --prune removes them; a file without policies
is then deleted. The export never writes through symbolic links.

Examples:
  palisade export > policies.yaml
  palisade export --out policies/all.yaml
  palisade export --out policies/
  palisade export --out policies/ --format json --prune`,
    )
    .action((options: ExportOptions) => exportPolicies(context, options))
}

async function exportPolicies(context: RunContext, options: ExportOptions): Promise<void> {
  const { io, style } = context
  const { out, prune } = options
  const isDirectory = out !== undefined && (await namesDirectory(context, out))
  if (prune === true && !isDirectory)
    throw usageError('`--prune` is for a directory; name one with `--out`')
  const format = readFormat(options, isDirectory)
  const { organization } = await connectOrganization(io)
  const exported = await organization.policySet.export()
  if (out === undefined) {
    await write(io.stdout, render(exported, format))
    return
  }
  const count = `${exported.policies.length} policies of revision ${exported.revision}`
  if (isDirectory) {
    const changes = await exportToDirectory(io, out, exported, { format, prune: prune === true })
    const lines = describeChanges(out, changes, count)
    await write(io.stdout, lines.map((line) => `${style.plain(line)}\n`).join(''))
    return
  }
  const text = await renderFor(context, out, exported, format)
  await replaceFile(resolveFile(io, out), out, text)
  await write(io.stdout, style.plain(`${out}: ${count}`).concat('\n'))
}

/** One line for each changed file, and a summary. */
function describeChanges(
  out: string,
  { created, updated, deleted }: DirectoryChanges,
  count: string,
): readonly string[] {
  const lines = [
    ...created.map((file) => `created ${file}`),
    ...updated.map((file) => `updated ${file}`),
    ...deleted.map((file) => `deleted ${file}`),
  ]
  return [...lines, `${out}: ${count}${lines.length === 0 ? ', unchanged' : ''}`]
}

async function namesDirectory({ io }: RunContext, out: string): Promise<boolean> {
  const status = await statOf(resolveFile(io, out))
  if (status === null) return out.endsWith('/')
  if (out.endsWith('/') && !status.isDirectory()) throw unreadable(out, 'is not a directory')
  return status.isDirectory()
}

function readFormat({ format, out }: ExportOptions, isDirectory: boolean): Format {
  const byName = out === undefined || isDirectory ? undefined : (formatOf(out) ?? 'yaml')
  if (format === undefined) return byName ?? 'yaml'
  if (format !== 'json' && format !== 'yaml')
    throw usageError(`unknown format \`${format}\`; write \`yaml\` or \`json\``)
  if (byName !== undefined && byName !== format)
    throw usageError(`\`--format ${format}\` does not match the file \`${out ?? ''}\``)
  return format
}

function render({ policies }: ExportResponse, format: Format): string {
  return format === 'json' ? renderJson(policies) : renderYaml(policies)
}

/** Refuses to replace a file that cannot be read as policies. */
async function renderFor(
  { io }: RunContext,
  out: string,
  exported: ExportResponse,
  format: Format,
): Promise<string> {
  const status = await statOf(resolveFile(io, out))
  if (status === null) return render(exported, format)
  // Checked before opening: reading a pipe would block, and a rename would replace a device.
  if (!status.isFile()) throw unreadable(out, 'is not a regular file; name another')
  await loadSources(io, [out])
  const file = { path: resolveFile(io, out), shown: out, format }
  return updateFile(io, file, exported.policies, createSameTeam(exported))
}

async function statOf(path: string): Promise<Stats | null> {
  try {
    return await stat(path)
  } catch {
    return null
  }
}
