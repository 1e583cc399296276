import type { ExportResponse, ShownPolicy } from '@palisade/protocol'
import { lstat, mkdir, realpath, rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { notWritten } from '../account/credentials-file.ts'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { resolveFile, unreadable } from '../file-argument.ts'
import type { Io } from '../io.ts'
import { listDirectory, type Place, type SourceFile } from './list-source-files.ts'
import { loadFiles, type LoadedPolicy } from './load-sources.ts'
import { nameFiles } from './name-files.ts'
import { renderJson, renderYaml } from './render-policies.ts'
import { replaceFile } from './replace-file.ts'
import { createSameTeam, saysAlready, updateFile } from './update-file.ts'

export interface DirectoryExport {
  /** What becomes of a new policy. */
  readonly format: SourceFile['format']
  /** Take out of the files what the server does not have, and files with nothing left. */
  readonly prune: boolean
}

/** Files as the directory has them, by what happened to them; as they are shown. */
export interface DirectoryChanges {
  readonly created: readonly string[]
  readonly updated: readonly string[]
  readonly deleted: readonly string[]
}

/** A file to be written, or with null to be deleted. */
interface PlannedFile extends Place {
  readonly text: string | null
}

/**
 * Makes the files of a directory say what was exported: a policy stays in the file where it stands,
 * a new one gets a file of its own. Nothing is written before everything could be read and made.
 * Throws exit 1 for policies that the server does not have, unless `prune`; exit 2 for a file that
 * is none of ours to replace.
 */
export async function exportToDirectory(
  io: Io,
  out: string,
  exported: ExportResponse,
  options: DirectoryExport,
): Promise<DirectoryChanges> {
  const root = { path: resolveFile(io, out), shown: out }
  await mkdir(root.path, { recursive: true }).catch((error: unknown) => {
    throw notWritten(out, error)
  })
  const files = await listDirectory(root)
  const loaded = await loadFiles(io, files)
  if (!options.prune) requireKnown(exported, loaded)

  const present = await planPresent(io, files, loaded, exported)
  const placed = new Set(loaded.map(({ policy }) => policy.name))
  const added = exported.policies.filter(({ name }) => !placed.has(name))
  const created = await planNew(root, files, added, options.format)
  for (const { path, shown } of present) await requireOrdinary(path, shown)
  for (const file of [...created, ...present]) await perform(root, file)
  return {
    created: created.map(({ shown }) => shown),
    updated: present.filter(({ text }) => text !== null).map(({ shown }) => shown),
    deleted: present.filter(({ text }) => text === null).map(({ shown }) => shown),
  }
}

/** What was never applied is somebody's work; it goes only when that is asked for. */
function requireKnown({ policies }: ExportResponse, loaded: readonly LoadedPolicy[]): void {
  const known = new Set(policies.map(({ name }) => name))
  const lines = loaded
    .filter(({ policy }) => !known.has(policy.name))
    .map(({ policy, place }) => `${place()}: policy \`${policy.name}\` is not on the server`)
  if (lines.length === 0) return
  const mend = 'nothing was written; apply these, or write `--prune` to take them out'
  throw new CliError('ERR_NOT_FOUND', EXIT.failed, [...lines, mend])
}

async function planPresent(
  io: Io,
  files: readonly SourceFile[],
  loaded: readonly LoadedPolicy[],
  exported: ExportResponse,
): Promise<readonly PlannedFile[]> {
  const wanted = new Map(exported.policies.map((policy) => [policy.name, policy]))
  const isSameTeam = createSameTeam(exported)
  const planned: PlannedFile[] = []
  for (const file of files) {
    const written = loaded.filter((policy) => policy.file === file).map(({ policy }) => policy)
    const policies = written.flatMap(({ name }) => wanted.get(name) ?? [])
    if (saysAlready(written, policies, isSameTeam)) continue
    const text = policies.length === 0 ? null : await updateFile(io, file, policies, isSameTeam)
    planned.push({ ...file, text })
  }
  return planned
}

async function planNew(
  root: Place,
  files: readonly SourceFile[],
  added: readonly ShownPolicy[],
  format: SourceFile['format'],
): Promise<readonly PlannedFile[]> {
  const taken = new Set(files.map(({ path }) => foldName(relative(root.path, path))))
  const fileOf = (name: string): string => `${name}.${format}`
  const names = nameFiles(
    added.map(({ name }) => name),
    (name) => taken.has(foldName(fileOf(name))),
  )
  const planned = added.map((policy) => {
    const name = fileOf(names.get(policy.name) ?? '')
    const place = { path: join(root.path, name), shown: join(root.shown, name) }
    return { ...place, text: render([policy], format) }
  })
  for (const { path, shown } of planned)
    if ((await lstat(path).catch(() => null)) !== null)
      throw unreadable(shown, 'is in the way of a new file; rename it')
  return planned
}

function render(policies: readonly ShownPolicy[], format: SourceFile['format']): string {
  return format === 'json' ? renderJson(policies) : renderYaml(policies)
}

/** As a file system that tells neither case nor composition apart. */
function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

/** A link would be written through, to where somebody else may have pointed it. */
async function requireOrdinary(path: string, shown: string): Promise<void> {
  if (!(await lstat(path)).isFile())
    throw unreadable(shown, 'is a symbolic link; put the file itself in its place')
}

async function perform(root: Place, { path, shown, text }: PlannedFile): Promise<void> {
  // Again just before: a directory on the way may have become a link meanwhile.
  const [top, place] = await Promise.all([realpath(root.path), realpath(dirname(path))])
  if (relative(top, place).split(sep)[0] === '..')
    throw unreadable(shown, `lies outside of ${root.shown}; nothing is written there`)
  if (text !== null) return replaceFile(path, shown, text)
  await rm(path).catch((error: unknown) => {
    throw notWritten(shown, error)
  })
}
