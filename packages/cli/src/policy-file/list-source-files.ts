import type { Dirent } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { usageError } from '../runtime/cli-error.ts'
import { resolveFile, unreadable } from '../runtime/file-argument.ts'
import type { Io } from '../runtime/io.ts'
import { describeSystemError } from '../runtime/system-error.ts'
import { write } from '../runtime/write.ts'
import { printable } from '../terminal/printable.ts'

/** A policy file. */
export interface SourceFile {
  readonly path: string
  /** Path as the user named it. */
  readonly shown: string
  readonly format: 'json' | 'yaml'
}

const FORMATS: ReadonlyMap<string, SourceFile['format']> = new Map([
  ['.yaml', 'yaml'],
  ['.yml', 'yaml'],
  ['.json', 'json'],
])
const ENDINGS = '`.yaml`, `.yml` or `.json`'
/** The schema that policy files name for editors. */
export const SCHEMA_NAME = '.palisade.schema.json'
/** Limit for a reader. */
const MAX_NAMED = 5
/** Far above any real tree of policies; a directory named by mistake may be `/`. */
const MAX_FILES = 10_000

/**
 * Lists the files that the arguments name: a file itself, and every `*.yaml`, `*.yml` and `*.json`
 * below a directory, by name, the ending in any letter case. Names other files on stderr, because
 * one of them may be a deny that is missed. Skips directories that begin with a dot, and
 * `node_modules`. Follows a symbolic link to a file of the same directory and refuses any other
 * link, because skipping it could delete the policies that it defines. Throws exit 2.
 */
export async function listSourceFiles(
  io: Pick<Io, 'cwd' | 'stderr'>,
  names: readonly string[],
): Promise<readonly SourceFile[]> {
  const files = new Map<string, SourceFile>()
  for (const name of names) {
    const path = resolveFile(io, name)
    if (await isDirectory(path, name)) {
      const { sources, others } = await readTree({ path, shown: name })
      for (const file of requireSome(name, sources)) files.set(file.path, file)
      if (others.length > 0) await write(io.stderr, describeOthers(others))
    } else files.set(path, { path, shown: name, format: formatOf(path) ?? refuseFormat(name) })
  }
  return [...files.values()]
}

export interface NamedPath {
  readonly path: string
  /** Path as the user named it. */
  readonly shown: string
}

function requireSome(shown: string, files: readonly SourceFile[]): readonly SourceFile[] {
  if (files.length > 0) return files
  throw unreadable(shown, `has no policy file, which ends in ${ENDINGS}`)
}

function describeOthers(others: readonly string[]): string {
  const shown = others.slice(0, MAX_NAMED).map(printable).join(', ')
  const more = others.length > MAX_NAMED ? ` and ${others.length - MAX_NAMED} more` : ''
  return `not read: ${shown}${more}; a policy file ends in ${ENDINGS}\n`
}

/** The format by the ending of a name, in any letter case; null for other endings. */
export function formatOf(name: string): SourceFile['format'] | null {
  return FORMATS.get(extname(name).toLowerCase()) ?? null
}

/** Lists the files below one directory like `listSourceFiles`; may be empty. */
export async function listDirectory(root: NamedPath): Promise<readonly SourceFile[]> {
  return (await readTree(root)).sources
}

/** Policy files, and the names of other files that may be meant as one. */
interface Listed {
  readonly sources: readonly SourceFile[]
  readonly others: readonly string[]
}

async function readTree(root: NamedPath): Promise<Listed> {
  const files: SourceFile[] = []
  const others: string[] = []
  const pending = [root]
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const found = await readDirectory(root, next)
    pending.push(...found.directories)
    files.push(...found.sources)
    others.push(...found.others)
    if (files.length > MAX_FILES) throw unreadable(root.shown, `holds more than ${MAX_FILES} files`)
  }
  return { sources: files.toSorted((a, b) => (a.shown < b.shown ? -1 : 1)), others }
}

async function readDirectory(
  root: NamedPath,
  { path, shown }: NamedPath,
): Promise<Listed & { readonly directories: readonly NamedPath[] }> {
  const directories: NamedPath[] = []
  const sources: SourceFile[] = []
  const others: string[] = []
  for (const entry of await attempt(shown, readdir(path, { withFileTypes: true }))) {
    const { name } = entry
    const inner = { path: join(path, name), shown: join(shown, name) }
    const format = formatOf(name)
    if (isSkipped(entry)) continue
    if (entry.isDirectory()) {
      directories.push(inner)
      continue
    }
    if (format === null && entry.isSymbolicLink()) await requireNoDirectory(inner)
    if (format === null || name.startsWith('.')) {
      others.push(inner.shown)
      continue
    }
    if (!entry.isFile()) await requireFileInside(root, inner)
    sources.push({ ...inner, format })
  }
  return { directories, sources, others }
}

/** Hidden files are no policies, and one that may be meant as a policy is named. */
function isSkipped(entry: Dirent): boolean {
  const { name } = entry
  if (!name.startsWith('.')) return name === 'node_modules'
  return entry.isDirectory() || formatOf(name) === null || name === SCHEMA_NAME
}

async function requireFileInside(root: NamedPath, link: NamedPath): Promise<void> {
  const status = await attempt(link.shown, lstat(link.path))
  if (!status.isSymbolicLink()) throw unreadable(link.shown, 'is not a regular file')
  const [target, top] = await attempt(
    link.shown,
    Promise.all([realpath(link.path), realpath(root.path)]),
  )
  if (relative(top, target).split(sep)[0] === '..')
    throw unreadable(link.shown, `is a link to a file outside ${root.shown}; name the file itself`)
  if (!(await attempt(link.shown, stat(target))).isFile())
    throw unreadable(link.shown, 'is a link to something that is not a file; name a file')
}

/** Skipping a linked directory could delete the policies that it defines. */
async function requireNoDirectory({ path, shown }: NamedPath): Promise<void> {
  const target = await stat(path).catch(() => null)
  if (target?.isDirectory() === true)
    throw unreadable(shown, 'is a link to a directory; name that directory itself')
}

async function isDirectory(path: string, shown: string): Promise<boolean> {
  return (await attempt(shown, stat(path))).isDirectory()
}

async function attempt<T>(shown: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw unreadable(shown, describeSystemError(error), error)
  }
}

function refuseFormat(name: string): never {
  throw usageError(`${name}: write a file that ends in ${ENDINGS}`)
}
