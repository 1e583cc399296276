import { conflict } from '../platform/api-error.ts'
import type { RootRecord } from '../store/distribution-records.ts'
import type { StoreReader } from '../store/store.ts'
import type { ViewRef } from './inspect-view.ts'

/** The members of signed metadata that name the next file; it was written by this server. */
interface Linked {
  readonly signed: {
    readonly meta: Readonly<Record<string, { readonly version: number }>>
    readonly targets: Readonly<Record<string, { readonly hashes: { readonly sha256: string } }>>
  }
}

export interface WantedFiles {
  /** Text of the timestamp, which names all others but the roots. */
  readonly timestamp: string
  /** Seconds since 1970: files replaced before it are not read any more. */
  readonly since: number
  /** Version of the newest root that is there already. */
  readonly root?: number
  /** The oldest of the others. */
  readonly maxRoots?: number
  /** Version of the targets file whose policies are there already. */
  readonly targets?: number | null
  /** Bytes of policies, in the order of the targets file; the first that is too much ends them. */
  readonly maxDocuments?: number
}

/** One file of a view by its path below it. */
export interface ViewFile {
  readonly name: string
  readonly body: Buffer
}

/** Runs `work` on a snapshot of the store; several may be of different ones. */
export type ReadStore = <T>(work: (reader: StoreReader) => Promise<T>) => Promise<T>

/**
 * The texts of a view by their paths below it, except those that the caller has already. Throws
 * ApiError 409 when the policies have changed meanwhile.
 */
export async function readViewFiles(
  reader: StoreReader,
  viewRef: Pick<ViewRef, 'org' | 'id'>,
  wanted: WantedFiles,
): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for await (const { name, body } of listViewFiles((work) => work(reader), viewRef, wanted))
    files[name] = body.toString()
  return files
}

/**
 * The same files one by one, each in a read of its own. Their names have a version or a hash, so
 * all files that follow from one timestamp belong together, whichever commits come in between.
 */
export async function* listViewFiles(
  read: ReadStore,
  { org, id }: Pick<ViewRef, 'org' | 'id'>,
  wanted: WantedFiles,
): AsyncGenerator<ViewFile> {
  const { timestamp, since, maxDocuments = Infinity } = wanted
  const readMetadata = async (name: string): Promise<ViewFile> => {
    const body = await read((reader) => reader.views.file(org, id, name, since))
    return { name: `metadata/${name}`, body: requireFile(body) }
  }
  yield { name: 'metadata/timestamp.json', body: Buffer.from(timestamp) }
  for await (const { version, body } of listRoots(read, org, wanted))
    yield { name: `metadata/${version}.root.json`, body: Buffer.from(body) }
  const listed = parse(timestamp).meta['snapshot.json']?.version
  const snapshot = await readMetadata(`${listed}.snapshot.json`)
  yield snapshot
  const version = parse(snapshot.body.toString()).meta['targets.json']?.version
  if (version === wanted.targets) return
  const targets = await readMetadata(`${version}.targets.json`)
  yield targets
  const former = await read((reader) => readFormerPaths(reader, { org, id }, wanted))
  let length = 0
  for (const path of pathsOf(parse(targets.body.toString()).targets)) {
    if (former.has(path)) continue
    const body = await read((reader) => reader.views.document(org, id, path, since))
    length += body?.byteLength ?? 0
    if (length > maxDocuments) break
    yield { name: `targets/${path}`, body: requireFile(body) }
  }
}

/** Throws ApiError 409 for a file that a concurrent change has replaced. */
function requireFile(body: Uint8Array | null): Buffer {
  if (body === null) throw conflict('the policies have just changed; try again')
  return Buffer.from(body)
}

async function* listRoots(
  read: ReadStore,
  org: string,
  { root: known = 0, maxRoots = Infinity }: WantedFiles,
): AsyncGenerator<RootRecord> {
  for (let count = 1; count <= maxRoots; count += 1) {
    const root = await read((reader) => reader.trust.root(org, known + count))
    if (root === null) return
    yield root
  }
}

/** Empty when that targets file is gone. */
async function readFormerPaths(
  reader: StoreReader,
  { org, id }: Pick<ViewRef, 'org' | 'id'>,
  { targets = null, since }: WantedFiles,
): Promise<ReadonlySet<string>> {
  const name = `${targets}.targets.json`
  const body = targets === null ? null : await reader.views.file(org, id, name, since)
  return new Set(body === null ? [] : pathsOf(parse(Buffer.from(body).toString()).targets))
}

function pathsOf(targets: Linked['signed']['targets']): string[] {
  return Object.entries(targets).map(([name, { hashes }]) =>
    name.replace('/', `/${hashes.sha256}.`),
  )
}

function parse(text: string): Linked['signed'] {
  return (JSON.parse(text) as Linked).signed
}
