import type { Steps } from '@palisade/policy-core'
import type { Stats } from 'node:fs'
import { hasInvalidBytes, quotePath } from '../view/view-refusal.ts'
import { isSameContent } from './file-content.ts'
import { HostConflict, type HostTree } from './host-tree.ts'
import type { StagedEntry } from './staged-entry.ts'
import type { TakenInodes } from './taken-inodes.ts'

/** An object of the host that a change takes away. */
export interface HostObject {
  readonly names: readonly string[]
  readonly status: Stats
}

/** A difference between a staged object and the host. */
export interface StagedChange {
  /** From the workspace on. */
  readonly names: readonly string[]
  /** `mode`: only the permissions differ. */
  readonly kind: 'created' | 'changed' | 'deleted' | 'mode'
  readonly type: 'file' | 'directory' | 'link' | 'special'
  /** Bytes of a file. */
  readonly size: number
  /** Null for a path that goes away. */
  readonly entry: StagedEntry | null
  /** The object of the host at the path. */
  readonly host: Stats | null
  /** Objects that go away, entries before their directory. */
  readonly removed: readonly HostObject[]
  /** Why the object is never copied out, for people. */
  readonly problem: string | null
  /** How the host has changed since the sandbox started, for people. */
  readonly conflict: string | null
}

export interface CompareDeps {
  readonly host: HostTree
  /** Wall time in milliseconds before which the host has the objects that the command saw. */
  readonly startedMs: number
  /** The user of the agent. */
  readonly uid: number
  readonly taken: TakenInodes
}

/** The kernel stamps objects with a clock that may lag. */
const LAG_MS = 20
const PERMISSIONS = 0o777
const EXECUTE = 0o111
const OWNER = 0o700
const SPECIAL = 'it is a device, socket or FIFO'
/** Limit of the objects below one directory that goes away. */
const MAX_REMOVED = 200_000

/** The part of a change that its path, kind and type do not tell, for people; null without one. */
export function detailOf({ entry, host, removed }: StagedChange): string | null {
  const own = entry === null ? null : entryDetail(entry, host)
  const lost = removed.length > 1 ? `${removed.length} objects go away` : null
  return [own, lost].filter((each) => each !== null).join(', ') || null
}

function entryDetail({ kind, status, target }: StagedEntry, host: Stats | null): string | null {
  if (kind === 'link') return `to ${quotePath(target ?? '')}`
  if (host !== null && typeOf(host) === kind) {
    const modes = [formatMode(host), formatMode(status)] as const
    return modes[0] === modes[1] ? null : modes.join(' to ')
  }
  return kind === 'file' && (status.mode & EXECUTE) !== 0 ? 'executable' : null
}

function formatMode({ mode }: Stats): string {
  return (mode & PERMISSIONS).toString(8).padStart(3, '0')
}

/** Compares one staged object with the host. Returns no change for an object that is the same. */
export function* compareEntry(entry: StagedEntry, deps: CompareDeps): Steps<StagedChange[]> {
  const { names } = entry
  let host: Stats | null
  try {
    host = deps.host.status(names)
  } catch (error) {
    if (!(error instanceof HostConflict)) throw error
    return [{ ...plain(entry, null), kind: 'changed', conflict: error.message }]
  }
  switch (entry.kind) {
    case 'whiteout':
      return host === null ? [] : [yield* removalOf(names, host, deps)]
    case 'special':
      return [{ ...plain(entry, host), problem: SPECIAL }]
    case 'directory':
      return yield* compareDirectory(entry, host, deps)
    case 'file':
      return yield* compareFile(entry, host, deps)
    case 'link':
      if (host?.isSymbolicLink() === true && deps.host.target(names) === entry.target) return []
      return [yield* replacementOf(entry, host, deps)]
  }
}

/** The change that takes a path of the host away. */
function* removalOf(names: readonly string[], host: Stats, deps: CompareDeps): Steps<StagedChange> {
  const type = typeOf(host)
  const removed = yield* objectsAt(names, host, deps)
  return {
    names,
    kind: 'deleted',
    type,
    size: type === 'file' ? host.size : 0,
    entry: null,
    host,
    removed: removed.objects,
    problem: type === 'special' ? SPECIAL : removed.problem,
    conflict: conflictOf(removed.objects, deps),
  }
}

function* compareDirectory(
  entry: StagedEntry,
  host: Stats | null,
  deps: CompareDeps,
): Steps<StagedChange[]> {
  if (host?.isDirectory() !== true) return [yield* replacementOf(entry, host, deps)]
  const isSameMode = (host.mode & PERMISSIONS) === (entry.status.mode & PERMISSIONS)
  // A killed copy-out leaves a new directory with all rights of its owner.
  const isRest =
    entry.isOpaque && ((entry.status.mode | OWNER) & PERMISSIONS) === (host.mode & PERMISSIONS)
  const conflict = isRest ? null : conflictOf([{ names: entry.names, status: host }], deps)
  const own: StagedChange[] =
    isSameMode && entry.problem === null ? [] : [{ ...plain(entry, host), kind: 'mode', conflict }]
  return entry.isOpaque ? [...own, ...(yield* othersBelow(entry, deps))] : own
}

/** The entries of the host that a new directory of the same name does not have. */
function* othersBelow(entry: StagedEntry, deps: CompareDeps): Steps<StagedChange[]> {
  const changes: StagedChange[] = []
  for (const bytes of deps.host.list(entry.names)) {
    const names = [...entry.names, bytes.toString('utf8')]
    // No rule can name it, so it stays.
    if (hasInvalidBytes(bytes) || entry.staged.has(names.at(-1) ?? '')) continue
    const status = deps.host.status(names)
    if (status !== null) changes.push(yield* removalOf(names, status, deps))
    yield
  }
  return changes
}

function* compareFile(
  entry: StagedEntry,
  host: Stats | null,
  deps: CompareDeps,
): Steps<StagedChange[]> {
  if (host?.isFile() !== true || host.size !== entry.status.size)
    return [yield* replacementOf(entry, host, deps)]
  const content = yield* isSameContent(entry.source, deps.host, entry.names)
  if (content !== true) {
    const change = yield* replacementOf(entry, host, deps)
    return [{ ...change, problem: change.problem ?? (content === false ? null : content) }]
  }
  if ((host.mode & PERMISSIONS) === (entry.status.mode & PERMISSIONS)) return []
  const conflict = conflictOf([{ names: entry.names, status: host }], deps)
  return [{ ...plain(entry, host), kind: 'mode', conflict }]
}

/** The change that gives the path the staged object, in place of any other. */
function* replacementOf(
  entry: StagedEntry,
  host: Stats | null,
  deps: CompareDeps,
): Steps<StagedChange> {
  const change = plain(entry, host)
  if (host === null)
    return entry.isCopied
      ? { ...change, kind: 'changed', conflict: 'it was removed outside since the sandbox started' }
      : change
  const { objects, problem } = yield* objectsAt(entry.names, host, deps)
  const foreign = host.uid === deps.uid ? null : 'the file outside belongs to another user'
  const special = typeOf(host) === 'special' ? `outside ${SPECIAL}` : null
  return {
    ...change,
    // A file is replaced in one step.
    removed: host.isDirectory() || entry.kind === 'directory' ? objects : [],
    problem: change.problem ?? special ?? problem ?? foreign,
    conflict: conflictOf(objects, deps),
  }
}

function plain(entry: StagedEntry, host: Stats | null): StagedChange {
  const { kind, names, problem, status } = entry
  return {
    names,
    kind: host === null ? 'created' : 'changed',
    type: kind === 'whiteout' ? 'special' : kind,
    size: kind === 'file' ? status.size : 0,
    entry,
    host,
    removed: [],
    problem: problem ?? setIdProblem(entry),
    conflict: null,
  }
}

/** Such a bit would lend the rights of its owner to every caller. */
function setIdProblem({ kind, status }: StagedEntry): string | null {
  return kind === 'file' && (status.mode & 0o6000) !== 0 ? 'it has a setuid or setgid bit' : null
}

/** All objects at a path of the host, entries before their directory. */
function* objectsAt(
  names: readonly string[],
  status: Stats,
  { host }: CompareDeps,
): Steps<{ readonly objects: readonly HostObject[]; readonly problem: string | null }> {
  const objects: HostObject[] = [{ names, status }]
  if (!status.isDirectory()) return { objects, problem: null }
  for (let index = 0; index < objects.length; index += 1) {
    const directory = objects[index]
    if (directory?.status.isDirectory() !== true) continue
    for (const bytes of host.list(directory.names)) {
      const below = [...directory.names, bytes.toString('utf8')]
      if (hasInvalidBytes(bytes))
        return { objects, problem: `it has ${quotePath(bytes)}, which no rule can name` }
      const found = host.status(below)
      if (found !== null) objects.push({ names: below, status: found })
      if (objects.length > MAX_REMOVED)
        return { objects, problem: `it has more than ${MAX_REMOVED} objects` }
    }
    yield
  }
  return { objects: objects.toReversed(), problem: null }
}

function typeOf(status: Stats): StagedChange['type'] {
  if (status.isDirectory()) return 'directory'
  if (status.isFile()) return 'file'
  return status.isSymbolicLink() ? 'link' : 'special'
}

function conflictOf(
  objects: readonly HostObject[],
  { startedMs, taken }: CompareDeps,
): string | null {
  const changed = objects.find(({ status }) => taken.changedMs(status) >= startedMs - LAG_MS)
  if (changed === undefined) return null
  return `${quotePath(changed.names.join('/'))} was changed outside since the sandbox started`
}
