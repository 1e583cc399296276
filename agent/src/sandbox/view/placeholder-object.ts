import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  type Stats,
} from 'node:fs'
import { unlessMissing } from './disk.ts'
import { join } from './mount-table.ts'
import type { PlaceholderRecord } from './placeholder-journal.ts'

/** Creates the object under its random name; returns its identity. */
export function createObject(record: PlaceholderRecord): PlaceholderRecord['object'] {
  return inDirectory(record.directory, (at) => {
    const { birthtimeMs, dev, ino } = createAt(at(record.draft), record.kind)
    return { device: dev, inode: ino, bornMs: birthtimeMs }
  })
}

/** Gives the object the denied name. Throws when the name exists. */
export function nameObject({ directory, draft, kind, name }: PlaceholderRecord): void {
  inDirectory(directory, (at) => nameAt(at(draft), at(name), kind))
}

function createAt(path: string, kind: PlaceholderRecord['kind']): Stats {
  if (kind === 'directory') mkdirSync(path, { mode: 0o755 })
  else closeSync(openSync(path, CREATE, 0o644))
  return lstatSync(path)
}

/** Throws `EEXIST` for a name that exists. A rename would replace an empty directory. */
function nameAt(draft: string, path: string, kind: PlaceholderRecord['kind']): void {
  if (kind === 'file') {
    linkSync(draft, path)
    unlinkSync(draft)
    return
  }
  if (unlessMissing(() => lstatSync(path)) !== undefined) throw new Error('the name exists')
  renameSync(draft, path)
}

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Whether the object has the denied name. One that cannot be reached counts as there. */
export function isPresent(record: PlaceholderRecord): boolean {
  try {
    const found = unlessMissing(() => lstatSync(join(record.directory, `/${record.name}`)))
    return isObject(found, record.name, record)
  } catch {
    return true
  }
}

/** Removes the object under both of its names; leaves every other object alone. */
export function removeObject(record: PlaceholderRecord): void {
  unlessMissing(() =>
    inDirectory(record.directory, (at) => {
      for (const name of [record.draft, record.name]) removeName(at, name, record)
    }),
  )
}

function removeName(at: PathOf, name: string, record: PlaceholderRecord): void {
  const isOwn = (status: Stats | undefined): boolean => isObject(status, name, record)
  if (!isOwn(unlessMissing(() => lstatSync(at(name))))) return
  if (record.kind === 'directory') {
    removeEmptyDirectory(at(name))
    return
  }
  // Another file may take the name at any time. Under a random name it cannot.
  const taken = at(`${record.draft}-removed`)
  renameSync(at(name), taken)
  if (isOwn(lstatSync(taken)) || name === record.draft) unlinkSync(taken)
  else putBack(taken, at(name))
}

/** Whether the object that was found under a name is that of the record. */
function isObject(
  status: Stats | undefined,
  name: string,
  { draft, kind, object }: PlaceholderRecord,
): boolean {
  return (
    status !== undefined &&
    (kind === 'file' ? status.isFile() && status.size === 0 : status.isDirectory()) &&
    // A draft has a name that no other program makes.
    (object === null
      ? name === draft
      : status.ino === object.inode &&
        status.dev === object.device &&
        // A new file often gets the inode of a removed one.
        status.birthtimeMs === object.bornMs)
  )
}

function removeEmptyDirectory(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Someone uses it now.
  }
}

/** If the name is taken again, the file stays under the random name, and no content is lost. */
function putBack(taken: string, path: string): void {
  try {
    linkSync(taken, path)
    unlinkSync(taken)
  } catch {
    // A newer file has the name.
  }
}

type PathOf = (name: string) => string

/** Works in the directory itself, so that a link put into its place cannot lead elsewhere. */
function inDirectory<T>(directory: string, work: (at: PathOf) => T): T {
  const descriptor = openSync(
    directory,
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  )
  try {
    return work((name) => `/proc/self/fd/${descriptor}/${name}`)
  } finally {
    closeSync(descriptor)
  }
}
