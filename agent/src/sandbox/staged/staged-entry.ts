import type { Steps } from '@palisade/policy-core'
import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'
import type { Listing, ViewDisk } from '../view/disk.ts'
import { hasInvalidBytes } from '../view/view-refusal.ts'
import type { LayerAttributes } from './layer-attributes.ts'

/** An object in the upper layer of a workspace, which no process changes any more. */
export interface StagedEntry {
  /** From the workspace on. */
  readonly names: readonly string[]
  /** Its path in the layer. */
  readonly source: string
  /** `whiteout`: the command has removed the name. `special`: device, socket or FIFO. */
  readonly kind: 'file' | 'directory' | 'link' | 'whiteout' | 'special'
  readonly status: Stats
  /** Text of a symbolic link. */
  readonly target: string | null
  /** Whether a directory is new, so that it hides all entries of one outside. */
  readonly isOpaque: boolean
  readonly isCopied: boolean
  /** Names in an opaque directory. */
  readonly staged: ReadonlySet<string>
  /** Why the object cannot be read, for people; null for any other. */
  readonly problem: string | null
}

/** Limit of the objects that one review looks at. */
const MAX_ENTRIES = 1_000_000
const MAX_DEPTH = 256
/** The kernel takes paths of 4,095 bytes, and a name has up to 255. */
const MAX_PATH_BYTES = 3_800
const ENTRIES_A_STEP = 64

/** The layer cannot be reviewed as a whole. The message is for people. */
export class ReviewRefusal extends Error {
  override readonly name = 'ReviewRefusal'
}

/**
 * Calls `visit` for every object of an upper layer, directories before their entries. `visit` may
 * return steps of its own. A directory with a `problem` is not entered.
 */
export function* eachEntry(
  upper: string,
  deps: {
    readonly disk: Pick<ViewDisk, 'list'>
    readonly attributes: LayerAttributes
    readonly visit: (entry: StagedEntry) => Steps<void>
    /** Called for a name that is not UTF-8, with the names of its directory. */
    readonly onInvalid: (directory: readonly string[], bytes: Buffer) => void
  },
): Steps<void> {
  const pending: Pick<StagedEntry, 'names' | 'source' | 'isOpaque'>[] = [
    { names: [], source: upper, isOpaque: false },
  ]
  let entries = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { entries: listed, invalid } = listOrEmpty(deps.disk, next.source)
    for (const { bytes } of invalid) deps.onInvalid(next.names, bytes)
    const below: typeof pending = []
    for (const { name } of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      entries += 1
      if (entries > MAX_ENTRIES)
        throw new ReviewRefusal(`more than ${MAX_ENTRIES} changes were staged`)
      const entry = readEntry(next, name, deps)
      yield* deps.visit(entry)
      if (entry.kind === 'directory' && entry.problem === null) below.push(entry)
      if (entries % ENTRIES_A_STEP === 0) yield
    }
    pending.push(...below.toReversed())
    yield
  }
}

function readEntry(
  directory: Pick<StagedEntry, 'names' | 'source' | 'isOpaque'>,
  name: string,
  {
    attributes,
    disk,
  }: { readonly attributes: LayerAttributes; readonly disk: Pick<ViewDisk, 'list'> },
): StagedEntry {
  const names = [...directory.names, name]
  const source = `${directory.source}/${name}`
  const status = lstatSync(source)
  const kind = kindOf(status)
  const problem = kind === 'directory' ? directoryProblem(names, source, disk) : null
  // The kernel marks only the topmost of new directories.
  const isOpaque = kind === 'directory' && (directory.isOpaque || attributes.isOpaque(source))
  const staged = isOpaque && problem === null ? disk.list(source).entries : []
  return {
    names,
    source,
    kind,
    status,
    isOpaque,
    isCopied: attributes.isCopied(source),
    staged: new Set(staged.map((each) => each.name)),
    ...(kind === 'link' ? readTarget(source) : { target: null, problem }),
  }
}

function readTarget(source: string): Pick<StagedEntry, 'target' | 'problem'> {
  const bytes = readlinkSync(source, { encoding: 'buffer' })
  return hasInvalidBytes(bytes)
    ? { target: null, problem: 'its target is not UTF-8, so no rule can name it' }
    : { target: bytes.toString('utf8'), problem: null }
}

function kindOf(status: Stats): StagedEntry['kind'] {
  if (status.isDirectory()) return 'directory'
  if (status.isFile()) return 'file'
  if (status.isSymbolicLink()) return 'link'
  return status.isCharacterDevice() && status.rdev === 0 ? 'whiteout' : 'special'
}

function directoryProblem(
  names: readonly string[],
  path: string,
  disk: Pick<ViewDisk, 'list'>,
): string | null {
  if (names.length > MAX_DEPTH || Buffer.byteLength(path) > MAX_PATH_BYTES)
    return `it is deeper than ${MAX_DEPTH} directories, or has too long a path`
  try {
    disk.list(path)
    return null
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === null) throw error
    return `it cannot be read (${code})`
  }
}

/** The layer of a read-only workspace may be missing. */
function listOrEmpty(disk: Pick<ViewDisk, 'list'>, path: string): Listing {
  try {
    return disk.list(path)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return { entries: [], invalid: [] }
    throw error
  }
}
