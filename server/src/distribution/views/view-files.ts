import { conflict } from '../../http/api-error.ts'
import type { RootRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import type { ViewPlace } from './inspect-view.ts'

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
  /** Seconds since 1970: what was replaced before is not read any more. */
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

/**
 * The texts of a view by their paths below it, apart from what is there already. Throws ApiError 409
 * when somebody has changed policies meanwhile.
 */
export async function readViewFiles(
  reader: StoreReader,
  { org, id }: Pick<ViewPlace, 'org' | 'id'>,
  wanted: WantedFiles,
): Promise<Record<string, string>> {
  const { timestamp, since, maxDocuments = Infinity } = wanted
  const files: Record<string, string> = { 'metadata/timestamp.json': timestamp }
  const keep = (name: string, body: Uint8Array | null): string => {
    // Whoever changes a policy right now has replaced it.
    if (body === null) throw conflict('the policies were changed meanwhile; ask again')
    return (files[name] = Buffer.from(body).toString())
  }
  const keepMetadata = async (name: string): Promise<Linked['signed']> =>
    read(keep(`metadata/${name}`, await reader.views.file(org, id, name, since)))
  for (const { version, body } of await readRoots(reader, org, wanted))
    keep(`metadata/${version}.root.json`, body)
  const listed = read(timestamp).meta['snapshot.json']?.version
  const snapshot = await keepMetadata(`${listed}.snapshot.json`)
  const version = snapshot.meta['targets.json']?.version
  if (version === wanted.targets) return files
  const { targets } = await keepMetadata(`${version}.targets.json`)
  const former = await readFormerPaths(reader, { org, id }, wanted)
  let length = 0
  for (const path of pathsOf(targets)) {
    if (former.has(path)) continue
    const body = await reader.views.document(org, id, path, since)
    length += body?.byteLength ?? 0
    if (length > maxDocuments) break
    keep(`targets/${path}`, body)
  }
  return files
}

async function readRoots(
  reader: StoreReader,
  org: string,
  { root: known = 0, maxRoots = Infinity }: WantedFiles,
): Promise<RootRecord[]> {
  const roots: RootRecord[] = []
  while (roots.length < maxRoots) {
    const root = await reader.trust.root(org, known + roots.length + 1)
    if (root === null) break
    roots.push(root)
  }
  return roots
}

/** None where that targets file is not there any more. */
async function readFormerPaths(
  reader: StoreReader,
  { org, id }: Pick<ViewPlace, 'org' | 'id'>,
  { targets = null, since }: WantedFiles,
): Promise<ReadonlySet<string>> {
  const name = `${targets}.targets.json`
  const body = targets === null ? null : await reader.views.file(org, id, name, since)
  return new Set(body === null ? [] : pathsOf(read(Buffer.from(body).toString()).targets))
}

function pathsOf(targets: Linked['signed']['targets']): string[] {
  return Object.entries(targets).map(([name, { hashes }]) =>
    name.replace('/', `/${hashes.sha256}.`),
  )
}

function read(text: string): Linked['signed'] {
  return (JSON.parse(text) as Linked).signed
}
