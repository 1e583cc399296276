import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { usageError } from '../cli-error.ts'
import { resolveFile, unreadable } from '../file-argument.ts'
import type { Io } from '../io.ts'
import { describeSystemError } from '../system-error.ts'

/** A file of policies. */
export interface SourceFile {
  readonly path: string
  /** As the person who named it knows it. */
  readonly shown: string
  readonly format: 'json' | 'yaml'
}

const FORMATS: ReadonlyMap<string, SourceFile['format']> = new Map([
  ['.yaml', 'yaml'],
  ['.yml', 'yaml'],
  ['.json', 'json'],
])
/** Far below any real tree of policies; a directory that was named by mistake may be `/`. */
const MAX_FILES = 10_000

/**
 * The files that arguments name: a file as it is, a directory for every `*.yaml`, `*.yml` and
 * `*.json` in it and below, by name. Names that begin with a dot are left out, and so is
 * `node_modules`; a symbolic link is followed to a file of the same directory and refused
 * otherwise, because leaving it out could delete what it defines. Throws exit 2.
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

export interface Place {
  readonly path: string
  readonly shown: string
}

function requireSome(shown: string, files: readonly SourceFile[]): readonly SourceFile[] {
  if (files.length > 0) return files
  throw unreadable(shown, 'holds no file of policies (`*.yaml`, `*.yml` or `*.json`)')
}

/** The files of one directory and below, as `listSourceFiles` finds them; perhaps none. */
export async function listDirectory(root: Place): Promise<SourceFile[]> {
  const files: SourceFile[] = []
  const pending = [root]
  for (let place = pending.shift(); place !== undefined; place = pending.shift()) {
    const { directories, sources } = await readDirectory(root, place)
    pending.push(...directories)
    files.push(...sources)
    if (files.length > MAX_FILES) throw unreadable(root.shown, `holds more than ${MAX_FILES} files`)
  }
  return files.toSorted((a, b) => (a.shown < b.shown ? -1 : 1))
}

async function readDirectory(
  root: Place,
  { path, shown }: Place,
): Promise<{ readonly directories: readonly Place[]; readonly sources: readonly SourceFile[] }> {
  const directories: Place[] = []
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

async function requireFileInside(root: Place, link: Place): Promise<void> {
  const status = await attempt(link.shown, lstat(link.path))
  if (!status.isSymbolicLink()) throw unreadable(link.shown, 'is not a regular file')
  const [target, top] = await attempt(
    link.shown,
    Promise.all([realpath(link.path), realpath(root.path)]),
  )
  if (relative(top, target).split(sep)[0] === '..')
    throw unreadable(link.shown, `is a link out of ${root.shown}; name the file itself`)
  if (!(await attempt(link.shown, stat(target))).isFile())
    throw unreadable(link.shown, 'is a link to something that is not a file; name that itself')
}

/** Leaving out what is below such a link could delete what it defines. */
async function requireNoDirectory({ path, shown }: Place): Promise<void> {
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
