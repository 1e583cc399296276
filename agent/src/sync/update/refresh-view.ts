import type { TrustedMetadataStore } from 'tuf-js/dist/store.js'
import { fault, type Fault } from '../fault.ts'
import type { ViewFiles } from '../trust/trusted-state.ts'
import type { Versions } from '../trust/view-marks.ts'
import type { FetchFile } from '../transport/fetch-file.ts'

/** Longest answers in bytes; the library believes what metadata says of other metadata. */
const MAX_ROOT = 64 * 1024
export const MAX_TIMESTAMP = 16 * 1024
const MAX_SNAPSHOT = 16 * 1024
const MAX_TARGETS = 256 * 1024
/** A root lives a year, so this is more than anybody misses. */
const MAX_ROTATIONS = 32

type Metadata = Pick<ViewFiles, 'timestamp' | 'snapshot' | 'targets'>

export interface Refresh {
  /** Where metadata is, such as `/api/v1/orgs/acme/views/…/metadata`. */
  readonly path: string
  /** The newest one that is trusted. */
  readonly root: string
  /** Of the same view, as they were accepted last: what is the same is not fetched again. */
  readonly kept: (Pick<Metadata, 'snapshot' | 'targets'> & { readonly versions: Versions }) | null
  /** Fetched already. */
  readonly timestamp: Buffer
}

export interface Refreshed {
  /** Roots that follow the one given; accepted, whatever became of the rest. */
  readonly roots: readonly string[]
  readonly result: Metadata | Fault
}

/**
 * Lets the set of trusted metadata of tuf-js judge what the server has, in the order of the
 * specification (§5). Its updater would do the same by way of files. What must not be older than it
 * was is judged by `judge-view.ts`, by marks that outlive the files. Never rejects.
 */
export async function refreshView(
  refresh: Refresh,
  fetchFile: FetchFile,
  signal: AbortSignal,
): Promise<Refreshed> {
  const roots: string[] = []
  try {
    // With the first update: what is on disk is enforced without the library, and loading it takes
    // longer than that.
    const tuf = await import('tuf-js/dist/store.js')
    const trusted = new tuf.TrustedMetadataStore(Buffer.from(refresh.root))
    const get = createGetter(refresh, fetchFile, signal)
    await updateRoots(trusted, get, roots)
    return { roots, result: await updateRest(trusted, get, refresh) }
  } catch (error) {
    return { roots, result: error instanceof NotFetched ? error.fault : describeRefusal(error) }
  }
}

/** Null for what is not there. Throws NotFetched. */
type Get = (name: string, maxBytes: number) => Promise<Buffer | null>

class NotFetched extends Error {
  readonly fault: Fault

  constructor(reason: Fault) {
    super(reason.message)
    this.fault = reason
  }
}

function createGetter({ path }: Refresh, fetchFile: FetchFile, signal: AbortSignal): Get {
  return async (name, maxBytes) => {
    const fetched = await fetchFile({ path: `${path}/${name}`, maxBytes }, signal)
    if (fetched.kind === 'absent') return null
    if (fetched.kind === 'body') return fetched.body
    const { kind } = fetched
    throw new NotFetched(kind === 'fault' ? fetched : fault('http_status', `no \`${name}\``))
  }
}

/** By the names that the metadata before them gives them, with their versions. */
function nameKept({ versions, snapshot, targets }: NonNullable<Refresh['kept']>) {
  return new Map([
    [`${versions.snapshot}.snapshot.json`, snapshot],
    [`${versions.targets}.targets.json`, targets],
  ])
}

/** §5.3: each next one until there is none; those that were accepted are added to `accepted`. */
async function updateRoots(
  trusted: TrustedMetadataStore,
  get: Get,
  accepted: string[],
): Promise<void> {
  const first = trusted.root.signed.version + 1
  for (let version = first; version < first + MAX_ROTATIONS; version += 1) {
    const body = await get(`${version}.root.json`, MAX_ROOT)
    if (body === null) return
    trusted.updateRoot(body)
    accepted.push(body.toString())
  }
}

/** §5.4 to §5.6. */
async function updateRest(
  trusted: TrustedMetadataStore,
  get: Get,
  { timestamp, kept }: Refresh,
): Promise<Metadata> {
  const named = kept === null ? new Map<string, string>() : nameKept(kept)

  async function take<T>(name: string, maxBytes: number, judge: (body: Buffer) => T): Promise<T> {
    const known = named.get(name)
    try {
      if (known !== undefined) return judge(Buffer.from(known))
    } catch {
      // Another one of the same version, such as whoever stole the former keys has made.
    }
    const body = await get(name, maxBytes)
    if (body === null) throw new NotFetched(fault('http_status', `the server lacks \`${name}\``))
    return judge(body)
  }

  const { snapshotMeta } = trusted.updateTimestamp(timestamp).signed
  const snapshot = await take(`${snapshotMeta.version}.snapshot.json`, MAX_SNAPSHOT, (body) => ({
    body,
    listed: trusted.updateSnapshot(body).signed.meta['targets.json'],
  }))
  const name = `${snapshot.listed?.version}.targets.json`
  const targets = await take(name, MAX_TARGETS, (body) => {
    trusted.updateDelegatedTargets(body, 'targets', 'root')
    return body
  })
  return {
    timestamp: timestamp.toString(),
    snapshot: snapshot.body.toString(),
    targets: targets.toString(),
  }
}

/** By the text: its classes say less. */
function describeRefusal(error: unknown): Fault {
  const said = error instanceof Error ? error.message : 'unknown'
  if (/was signed by \d+\/\d+ keys/.test(said))
    return fault('bad_signature', 'the signature of the policy does not hold')
  if (/expired/i.test(said)) return fault('expired', 'what was signed has expired')
  if (/Expected version|does not match|doesn't match/.test(said))
    return fault('older_version', 'these are other versions than the files before them name')
  if (/hash|length/i.test(said)) return fault('mixed', 'the files do not belong together')
  return fault('malformed', 'there is metadata that this agent does not accept')
}
