import type { Steps } from '@palisade/policy-core'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  futimesSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  type Stats,
} from 'node:fs'
import { unlessMissing } from '../view/disk.ts'
import { copyContent, openFile } from './file-content.ts'
import { HostConflict, type HostTree, type PathOf } from './host-tree.ts'
import type { LayerAttributes } from './layer-attributes.ts'
import type { HostObject, StagedChange } from './staged-change.ts'
import type { TakenInodes } from './taken-inodes.ts'
import type { StagedEntry } from './staged-entry.ts'

export interface ApplyDeps {
  readonly host: HostTree
  readonly attributes: Pick<LayerAttributes, 'dataFrom'>
  readonly taken: TakenInodes
  /** The name under which an object is complete before it takes its own. */
  readonly temporary: string
  /** Called before the temporary name comes into being in a directory. */
  readonly beforeTemporary: (directory: readonly string[]) => void
}

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const PERMISSIONS = 0o777
const SPECIAL_BITS = 0o7000
/** All that the owner needs to make the entries of a directory. */
const OWNER = 0o700
const CHANGED = 'it was changed outside in the meantime'

/**
 * Copies one change to the host. Throws `HostConflict` when the host has another object than the
 * one that was compared, and errors of the system. The permissions of a directory are left to
 * `applyPermissions`, because its entries come after it.
 */
export function* applyChange(change: StagedChange, deps: ApplyDeps): Steps<void> {
  const { entry, kind, names } = change
  yield* requireRemovable(change.removed, deps)
  for (const object of change.removed) {
    remove(object, deps)
    yield
  }
  if (entry === null || kind === 'deleted') return
  if (kind === 'mode') {
    if (entry.kind === 'file') setMode(entry, deps.host)
    return
  }
  if (change.removed.length > 0) return yield* putEntry({ ...change, host: null }, entry, deps)
  if (entry.kind === 'directory' && change.host !== null) throw new HostConflict(CHANGED)
  requireParent(deps.host.inParent(names, () => true))
  yield* putEntry(change, entry, deps)
}

/** Gives a directory its permissions, after its entries. Throws as `applyChange` does. */
export function applyPermissions(change: StagedChange, host: HostTree): void {
  const { entry, kind, names } = change
  if (entry === null) return
  setDirectoryMode(names, entry.status.mode, host, (found) => {
    const { dev, ino, mode } = kind === 'mode' && change.host !== null ? change.host : found
    if (found.dev !== dev || found.ino !== ino || found.mode !== mode)
      throw new HostConflict(CHANGED)
  })
}

/** Sets the permissions, and keeps the sticky and setgid bits of the host. */
function setDirectoryMode(
  names: readonly string[],
  mode: number,
  host: HostTree,
  check: (found: Stats) => void = () => {},
): void {
  host.inParent([...names, '.'], (at) => {
    const found = lstatSync(at('.'))
    check(found)
    chmodSync(at('.'), (found.mode & SPECIAL_BITS) | (mode & PERMISSIONS))
  })
}

function* putEntry(change: StagedChange, entry: StagedEntry, deps: ApplyDeps): Steps<void> {
  const { host, names } = change
  if (entry.kind === 'directory') {
    const made = deps.host.inParent(names, (at, name) => {
      mkdirSync(at(name), { mode: OWNER })
      return true
    })
    requireParent(made)
    // After a killed agent, no difference to the staged directory is left.
    return setDirectoryMode(names, entry.status.mode | OWNER, deps.host)
  }
  const { temporary } = deps
  deps.beforeTemporary(names.slice(0, -1))
  const isWritten = yield* writeTemporary(entry, deps)
  requireParent(isWritten)
  deps.host.inParent(names, (at, name) => {
    try {
      nameTemporary(at, name, host, deps)
    } catch (error) {
      unlessMissing(() => unlinkSync(at(temporary)))
      throw error
    }
  })
}

/** Null when the directory is missing. */
function* writeTemporary(entry: StagedEntry, deps: ApplyDeps): Steps<boolean | null> {
  const { host, temporary } = deps
  const { names, source, status, target } = entry
  if (entry.kind === 'link')
    return host.inParent(names, (at) => {
      symlinkSync(target ?? '', at(temporary))
      return true
    })
  const from = openFile(source)
  let to: number | null = null
  try {
    to = host.inParent(names, (at) => openSync(at(temporary), CREATE, 0o600))
    if (to === null) return null
    yield* copyContent(from, to, deps.attributes.dataFrom)
    fchmodSync(to, status.mode & PERMISSIONS)
    futimesSync(to, status.atime, status.mtime)
    return true
  } catch (error) {
    host.inParent(names, (at) => unlessMissing(() => unlinkSync(at(temporary))))
    throw error
  } finally {
    closeSync(from)
    if (to !== null) closeSync(to)
  }
}

/** A new name never replaces an object; one that exists is compared just before it is replaced. */
function nameTemporary(
  at: PathOf,
  name: string,
  host: Stats | null,
  { taken, temporary }: Pick<ApplyDeps, 'taken' | 'temporary'>,
): void {
  if (host === null) {
    linkSync(at(temporary), at(name))
    unlinkSync(at(temporary))
    return
  }
  requireSame(
    unlessMissing(() => lstatSync(at(name))),
    host,
    { taken },
  )
  renameSync(at(temporary), at(name))
  taken.add(host)
}

/** A directory goes away as a whole or not at all, as far as that can be told before. */
function* requireRemovable(objects: readonly HostObject[], deps: ApplyDeps): Steps<void> {
  if (objects.length < 2) return
  for (const { names, status } of objects) {
    deps.host.inParent(names, (at, name) => {
      requireSame(
        unlessMissing(() => lstatSync(at(name))),
        status,
        deps,
      )
      if (status.isDirectory()) accessSync(at(name), constants.W_OK | constants.X_OK)
    })
    yield
  }
}

function remove({ names, status }: HostObject, { host, taken }: ApplyDeps): void {
  host.inParent(names, (at, name) => {
    const found = unlessMissing(() => lstatSync(at(name)))
    if (found === undefined) return
    if (!status.isDirectory()) {
      requireSame(found, status, { taken })
      unlinkSync(at(name))
      taken.add(found)
      return
    }
    // Its entries are gone, so that it has changed; a new entry keeps it.
    if (found.ino !== status.ino || found.dev !== status.dev) throw new HostConflict(CHANGED)
    rmdirSync(at(name))
  })
}

function setMode({ names, status }: StagedEntry, host: HostTree): void {
  const made = host.inParent(names, (at, name) => {
    const descriptor = openFile(at(name))
    try {
      fchmodSync(descriptor, status.mode & PERMISSIONS)
    } finally {
      closeSync(descriptor)
    }
    return true
  })
  requireParent(made)
}

function requireSame(
  found: Stats | undefined,
  expected: Stats,
  { taken }: Pick<ApplyDeps, 'taken'>,
): void {
  const isSame =
    found?.ino === expected.ino &&
    found.dev === expected.dev &&
    taken.changedMs(found) === taken.changedMs(expected) &&
    found.size === expected.size
  if (!isSame) throw new HostConflict(CHANGED)
}

function requireParent(made: boolean | null): void {
  if (made === null) throw new HostConflict('its directory does not exist outside')
}
