import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { usageError } from '../cli-error.ts'
import { resolveFile, unreadable } from '../file-argument.ts'
import type { Io } from '../io.ts'
import { describeSystemError } from '../system-error.ts'

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
/** Far above any real tree of policies; a directory named by mistake may be `/`. */
const MAX_FILES = 10_000

/**
 * Lists the files that the arguments name: a file itself, and every `*.yaml`, `*.yml` and `*.json`
 * below a directory, by name. Skips names that begin with a dot, and `node_modules`. Follows a
 * symbolic link to a file of the same directory and refuses any other link, because skipping it
 * could delete the policies that it defines. Throws exit 2.
 */
export async function listSourceFiles(
  io: Pick<Io, 'cwd'>,
  names: readonly string[],
): Promise<readonly SourceFile[]> {
  const files = new Map<string, SourceFile>()
  for (const name of names) {
    const path = resolveFile(io, name)
    const listed = (await isDirectory(path, name))
      ? requireSome(name, await listDirectory({ path, shown: name }))
      : [{ path, shown: name, format: FORMATS.get(extname(path)) ?? refuseFormat(name) }]
    for (const file of listed) files.set(file.path, file)
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
  throw unreadable(shown, 'has no policy file (`*.yaml`, `*.yml` or `*.json`)')
}

/** Lists the files below one directory like `listSourceFiles`; may be empty. */
export async function listDirectory(root: NamedPath): Promise<SourceFile[]> {
  const files: SourceFile[] = []
  const pending = [root]
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const { directories, sources } = await readDirectory(root, next)
    pending.push(...directories)
    files.push(...sources)
    if (files.length > MAX_FILES) throw unreadable(root.shown, `holds more than ${MAX_FILES} files`)
  }
  return files.toSorted((a, b) => (a.shown < b.shown ? -1 : 1))
}

async function readDirectory(
  root: NamedPath,
  { path, shown }: NamedPath,
): Promise<{
  readonly directories: readonly NamedPath[]
  readonly sources: readonly SourceFile[]
}> {
  const directories: NamedPath[] = []
  const sources: SourceFile[] = []
  for (const entry of await attempt(shown, readdir(path, { withFileTypes: true }))) {
    const { name } = entry
    if (name.startsWith('.') || name === 'node_modules') continue
    const inner = { path: join(path, name), shown: join(shown, name) }
    const format = FORMATS.get(extname(name))
    if (entry.isDirectory()) directories.push(inner)
    if (format === undefined && entry.isSymbolicLink()) await requireNoDirectory(inner)
    if (entry.isDirectory() || format === undefined) continue
    if (!entry.isFile()) await requireFileInside(root, inner)
    sources.push({ ...inner, format })
  }
  return { directories, sources }
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
  throw usageError(`${name}: write a file that ends in \`.yaml\`, \`.yml\` or \`.json\``)
}
