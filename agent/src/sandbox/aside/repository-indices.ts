import type { Steps } from '@palisade/policy-core'
import { basename, dirname, join } from 'node:path'
import { statusOrNull, type ViewDisk } from '../view/disk.ts'
import { SETTINGS } from '../view/guarded-names.ts'
import { isWithin } from '../view/mount-table.ts'
import { readBeginning } from '../view/regular-file.ts'
import { REPOSITORY } from '../view/repository.ts'
import { hasInvalidBytes, quotePath } from '../view/view-refusal.ts'
import { readIndex, type IndexName } from './index-file.ts'
import type { HashBytes } from './index-tail.ts'
import { commonDirectory } from './made-repository.ts'

const INDEX = 'index'
const SHARED_INDEX = /^sharedindex\.[0-9a-f]+$/
const MAX_SETTINGS_BYTES = 1024 ** 2
const SHA256 = /^\s*objectformat\s*=\s*"?sha256/im
/** Git itself writes no such name into an index, and finds a repository behind it. */
const STRANGE: ReadonlySet<string> = new Set(['', '.', '..', REPOSITORY])

/** An index by which git outside could enter a repository of the command by itself. */
export interface IndexFault {
  /** The path of the index, or of the new repository that it names. */
  readonly path: string
  /** For people. */
  readonly problem: string
  /** Whether the agent cannot tell the names of the index. */
  readonly isUnknown: boolean
}

/** Whether the name in the directory of a repository is a part of its index. */
export function isIndex(name: string): boolean {
  return name === INDEX || SHARED_INDEX.test(name)
}

/**
 * The indices of the repositories that were there before the command, and the repositories since.
 * `git status` enters each directory that an index names as a submodule, and obeys the settings of
 * the repository there.
 */
export class RepositoryIndices {
  readonly #disk: ViewDisk
  readonly #repositories: readonly string[]
  /** Shared indices, by repository. */
  readonly #shared = new Map<string, string>()
  /** States of indices, by repository: those of the start, and those that were read last. */
  readonly #atStart: ReadonlyMap<string, string>
  readonly #read: Map<string, string>
  /** New repositories by their directories, by the directories above, and by the last names. */
  readonly #made = new Map<string, string>()
  readonly #above = new Set<string>()
  readonly #byName = new Map<string, string>()

  constructor(repositories: readonly string[], disk: ViewDisk) {
    this.#disk = disk
    this.#repositories = repositories
    this.#atStart = new Map(repositories.map((path) => [path, this.#stateOf(path)]))
    this.#read = new Map(this.#atStart)
  }

  /** New directories, files and links `.git` until now. */
  get madeCount(): number {
    return this.#made.size
  }

  /** Notes a new directory, file or link `.git`. */
  add(path: string): void {
    const directory = dirname(path)
    this.#made.set(directory, path)
    this.#byName.set(basename(directory), path)
    for (let at = directory; !this.#above.has(at); at = dirname(at)) this.#above.add(at)
  }

  /**
   * The first index that leads git into a new repository, or may do so because it cannot be read.
   * A command can write to an index without a trace, so near new repositories each one is read.
   */
  *findFault(): Steps<IndexFault | null> {
    for (const repository of this.#repositories) {
      const isNear = this.#isNearMade(repository)
      const state = this.#stateOf(repository)
      if (!isNear && state === this.#read.get(repository)) continue
      const fault = yield* this.#faultOf(repository)
      if (fault !== null && (isNear || !fault.isUnknown)) return fault
      this.#read.set(repository, state)
    }
    return null
  }

  /** All indices with names that the search for new repositories does not reach. */
  *findLastFaults(): Steps<readonly IndexFault[]> {
    const faults: IndexFault[] = []
    for (const repository of this.#repositories) {
      if (this.#stateOf(repository) === this.#atStart.get(repository)) continue
      const fault = yield* this.#faultOf(repository, true)
      if (fault !== null) faults.push(fault)
    }
    return faults
  }

  #stateOf(repository: string): string {
    const paths = [join(repository, INDEX), this.#shared.get(repository)]
    const states = paths.map((path) => {
      const status = path === undefined ? null : statusOrNull(this.#disk, path)
      return status === null
        ? ''
        : [status.device, status.inode, status.size, status.changedMs].join(':')
    })
    return states.join()
  }

  *#faultOf(repository: string, isLast = false): Steps<IndexFault | null> {
    const index = join(repository, INDEX)
    const hash = this.#hashOf(repository)
    let fault: IndexFault | null = null
    let isNameShared = false
    const checkName = ({ kind, name }: IndexName): void => {
      if (kind === 'submodule' && name.length === 0) isNameShared = true
      else fault ??= this.#faultOfName(repository, kind, name, isLast)
    }
    const unknown = (path: string, problem: string): IndexFault => ({
      path,
      problem: `${quotePath(path)} ${problem}`,
      isUnknown: true,
    })
    const { problem, shared } = yield* readIndex(index, hash, checkName)
    if (fault !== null || (problem === null && shared === null)) return fault
    if (problem !== null) return unknown(index, problem)
    const path = join(repository, `sharedindex.${shared}`)
    this.#shared.set(repository, path)
    const base = yield* readIndex(path, hash, checkName, isNameShared)
    return fault ?? (base.problem === null ? null : unknown(path, base.problem))
  }

  /** The problem with one name of an index. Those of new repositories are not asked for at last. */
  #faultOfName(
    repository: string,
    kind: IndexName['kind'],
    bytes: Buffer,
    isLast: boolean,
  ): IndexFault | null {
    const name = bytes.toString('utf8').replace(/\/$/, '')
    if (hasInvalidBytes(bytes) || name.split('/').some((part) => STRANGE.has(part))) {
      const index = join(repository, INDEX)
      const problem =
        `${quotePath(index)} names ${quotePath(bytes)} as a submodule, where git outside the ` +
        'sandbox could obey settings that the command made'
      return { path: index, problem, isUnknown: false }
    }
    const path = isLast ? undefined : this.#madeAt(repository, kind, name)
    if (path === undefined) return null
    const problem =
      `the index of your repository names ${quotePath(path)}, which the command made, so that ` +
      'git outside the sandbox would obey its settings'
    return { path, problem, isUnknown: false }
  }

  /** The new repository that git enters by a name of an index. */
  #madeAt(repository: string, kind: IndexName['kind'], name: string): string | undefined {
    // The working tree of another repository may be anywhere.
    if (basename(repository) !== REPOSITORY) return this.#byName.get(basename(name))
    const directory = join(dirname(repository), name)
    if (kind !== 'tree') return this.#made.get(directory)
    if (!this.#above.has(directory)) return undefined
    return [...this.#made.values()].find((path) => isWithin(path, directory))
  }

  #isNearMade(repository: string): boolean {
    return basename(repository) === REPOSITORY
      ? this.#above.has(dirname(repository))
      : this.#made.size > 0
  }

  /** The content of an index fits one format only if git has written it. */
  #hashOf(repository: string): HashBytes {
    const common = commonDirectory(repository, this.#disk)
    const settings = join(common === '' ? repository : common, SETTINGS)
    const text = readBeginning(settings, MAX_SETTINGS_BYTES)?.toString('latin1') ?? ''
    return SHA256.test(text) ? 32 : 20
  }
}
