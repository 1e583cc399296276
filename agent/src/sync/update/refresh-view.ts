import type { TrustedMetadataStore } from 'tuf-js/dist/store.js'
import { fault, type Fault } from '../fault.ts'
import type { ViewFiles } from '../trust/trusted-state.ts'
import type { Versions } from '../trust/view-marks.ts'
import type { FetchFile } from '../transport/fetch-file.ts'

/**
 * Longest answers in bytes; the library trusts the lengths that metadata states of other metadata.
 */
const MAX_ROOT = 64 * 1024
export const MAX_TIMESTAMP = 16 * 1024
const MAX_SNAPSHOT = 16 * 1024
const MAX_TARGETS = 256 * 1024
/** A root lives for a year, so a machine does not miss more than this. */
const MAX_ROTATIONS = 32

type Metadata = Pick<ViewFiles, 'timestamp' | 'snapshot' | 'targets'>

export interface Refresh {
  /** Path of the metadata, such as `/api/v1/orgs/acme/views/…/metadata`. */
  readonly path: string
  /** The newest trusted root. */
  readonly root: string
  /** The last accepted files of the same view; unchanged ones are not fetched again. */
  readonly kept: (Pick<Metadata, 'snapshot' | 'targets'> & { readonly versions: Versions }) | null
  /** Already fetched. */
  readonly timestamp: Buffer
}

export interface Refreshed {
  /** Roots after the given one, accepted even if a later step failed. */
  readonly roots: readonly string[]
  readonly result: Metadata | Fault
}

/**
 * Verifies the server's metadata with the set of trusted metadata of tuf-js, in the order of the
 * specification (§5). Its updater would do the same with files. `verify-view.ts` checks for
 * rollbacks, by marks that outlive the files. Never rejects.
 */
export async function refreshView(
  refresh: Refresh,
  fetchFile: FetchFile,
  signal: AbortSignal,
): Promise<Refreshed> {
  const roots: string[] = []
  try {
    // Imported at the first update: a cached bundle is enforced without the library, and loading it
    // takes longer than that.
    const tuf = await import('tuf-js/dist/store.js')
    const trusted = new tuf.TrustedMetadataStore(Buffer.from(refresh.root))
    const get = createGetter(refresh, fetchFile, signal)
    await updateRoots(trusted, get, roots)
    return { roots, result: await updateRest(trusted, get, refresh) }
  } catch (error) {
    return { roots, result: error instanceof NotFetched ? error.fault : describeRefusal(error) }
  }
}

/** Null for an absent file. Throws NotFetched. */
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

/** Maps the kept files by their names with versions, as other metadata refers to them. */
function nameKept({ versions, snapshot, targets }: NonNullable<Refresh['kept']>) {
  return new Map([
    [`${versions.snapshot}.snapshot.json`, snapshot],
    [`${versions.targets}.targets.json`, targets],
  ])
}

/** §5.3: loads every newer root in sequence, and adds accepted ones to `accepted`. */
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

/** §5.4 to §5.6: timestamp, snapshot and targets. */
async function updateRest(
  trusted: TrustedMetadataStore,
  get: Get,
  { timestamp, kept }: Refresh,
): Promise<Metadata> {
  const named = kept === null ? new Map<string, string>() : nameKept(kept)

  async function take<T>(name: string, maxBytes: number, verify: (body: Buffer) => T): Promise<T> {
    const known = named.get(name)
    try {
      if (known !== undefined) return verify(Buffer.from(known))
    } catch {
      // The kept file may differ under the same version, such as one that a thief of former keys
      // has signed.
    }
    const body = await get(name, maxBytes)
    if (body === null) throw new NotFetched(fault('http_status', `the server lacks \`${name}\``))
    return verify(body)
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

/** Classifies by message, because the error classes say less. */
function describeRefusal(error: unknown): Fault {
  const said = error instanceof Error ? error.message : 'unknown'
  if (/was signed by \d+\/\d+ keys/.test(said))
    return fault('bad_signature', 'the signature of the policy is invalid')
  if (/expired/i.test(said)) return fault('expired', 'the signed metadata has expired')
  if (/Expected version|does not match|doesn't match/.test(said))
    return fault('older_version', 'a file has another version than the metadata before it names')
  if (/hash|length/i.test(said)) return fault('mixed', 'the files do not belong together')
  return fault('malformed', 'the metadata is invalid for this agent')
}
