import type { ExportResponse, ShownPolicy } from '@palisade/protocol'
import { lstat, mkdir, realpath, rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { listDirectory, type NamedPath, type SourceFile } from '../policy-file/list-source-files.ts'
import { loadFiles, type LoadedPolicy } from '../policy-file/load-sources.ts'
import { renderJson, renderYaml } from '../policy-file/render-policies.ts'
import { createSameTeam, isUpToDate, updateFile } from '../policy-file/update-file.ts'
import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { notWritten, resolveFile, unreadable } from '../runtime/file-argument.ts'
import type { Io } from '../runtime/io.ts'
import { replaceFile } from '../runtime/replace-file.ts'
import { nameFiles } from './name-files.ts'

export interface DirectoryExport {
  /** Format of the file of a new policy. */
  readonly format: SourceFile['format']
  /** Remove policies that the server does not have, and files left without a policy. */
  readonly prune: boolean
}

/** The changed files of the directory by kind of change, as they are shown. */
export interface DirectoryChanges {
  readonly created: readonly string[]
  readonly updated: readonly string[]
  readonly deleted: readonly string[]
}

/** A file to be written, or to be deleted if `text` is null. */
interface PlannedFile extends NamedPath {
  readonly text: string | null
}

/**
 * Updates the files of a directory to the exported policies: a policy stays in its file, a new one
 * gets a file of its own. Writing starts after all files have been read and rendered. Throws exit 1
 * for policies that the server does not have, unless `prune`; exit 2 for a file that must not be
 * replaced.
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
  const known = new Set(loaded.map(({ policy }) => policy.name))
  const added = exported.policies.filter(({ name }) => !known.has(name))
  const created = await planNew(root, files, added, options.format)
  for (const { path, shown } of present) await requireRegularFile(path, shown)
  for (const file of [...created, ...present]) await writePlanned(root, file)
  return {
    created: created.map(({ shown }) => shown),
    updated: present.filter(({ text }) => text !== null).map(({ shown }) => shown),
    deleted: present.filter(({ text }) => text === null).map(({ shown }) => shown),
  }
}

/** A policy that was never applied is somebody's work; only `prune` removes it. */
function requireKnown({ policies }: ExportResponse, loaded: readonly LoadedPolicy[]): void {
  const known = new Set(policies.map(({ name }) => name))
  const lines = loaded
    .filter(({ policy }) => !known.has(policy.name))
    .map(({ policy, locate }) => `${locate()}: policy \`${policy.name}\` is not on the server`)
  if (lines.length === 0) return
  const mend = 'nothing was written; apply these, or write `--prune` to remove them'
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
    if (isUpToDate(written, policies, isSameTeam)) continue
    const text = policies.length === 0 ? null : await updateFile(io, file, policies, isSameTeam)
    planned.push({ ...file, text })
  }
  return planned
}

async function planNew(
  root: NamedPath,
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
    const file = { path: join(root.path, name), shown: join(root.shown, name) }
    return { ...file, text: render([policy], format) }
  })
  for (const { path, shown } of planned)
    if ((await lstat(path).catch(() => null)) !== null)
      throw unreadable(shown, 'is in the way of a new file; rename it')
  return planned
}

function render(policies: readonly ShownPolicy[], format: SourceFile['format']): string {
  return format === 'json' ? renderJson(policies) : renderYaml(policies)
}

/** Folds a name like a file system that ignores case and Unicode composition. */
function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

/** Writing through a link would change a file that somebody else may have chosen. */
async function requireRegularFile(path: string, shown: string): Promise<void> {
  if (!(await lstat(path)).isFile())
    throw unreadable(shown, 'is a symbolic link; put the file itself in its place')
}

async function writePlanned(root: NamedPath, { path, shown, text }: PlannedFile): Promise<void> {
  // Checked again right before the write: a parent directory may have become a link meanwhile.
  const [top, directory] = await Promise.all([realpath(root.path), realpath(dirname(path))])
  if (relative(top, directory).split(sep)[0] === '..')
    throw unreadable(shown, `lies outside ${root.shown}; nothing is written there`)
  if (text !== null) return replaceFile(path, shown, text)
  await rm(path).catch((error: unknown) => {
    throw notWritten(shown, error)
  })
}
