import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemErrorCode } from '../errors.ts'
import { fault, type Fault } from './fault.ts'
import { readRoot } from './signed-metadata.ts'
import type { ViewFiles } from './trusted-state.ts'
import type { FetchFile } from './view-client.ts'

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
  /** Of the same view, as they were accepted last: what is fetched must not be older. */
  readonly files: Metadata | null
  /** Fetched already. */
  readonly timestamp: Buffer
  /** Where a directory may be made for as long as this takes. */
  readonly directory: string
}

export interface Refreshed {
  /** Roots that follow the one given; accepted, whatever became of the rest. */
  readonly roots: readonly string[]
  readonly result: Metadata | Fault
}

/**
 * Lets the updater of tuf-js judge what the server has, by the workflow of the specification (§5).
 * It works on a copy, so that nothing of ours is ever half written. Never rejects.
 */
export async function refreshView(
  refresh: Refresh,
  fetchFile: FetchFile,
  signal: AbortSignal,
): Promise<Refreshed> {
  let staging: string | null = null
  try {
    await mkdir(refresh.directory, { recursive: true, mode: 0o700 })
    staging = await mkdtemp(join(refresh.directory, 'staging.tmp-'))
    await fillStaging(staging, refresh)
    return await runUpdater(staging, refresh, fetchFile, signal)
  } catch (error) {
    const reason = systemErrorCode(error) ?? (error instanceof Error ? error.message : 'unknown')
    const message = `what was fetched cannot be kept on disk: ${reason}`
    return { roots: [], result: fault('cache_not_written', message) }
  } finally {
    if (staging !== null) await rm(staging, { recursive: true, force: true }).catch(() => {})
  }
}

async function fillStaging(staging: string, { root, files }: Refresh): Promise<void> {
  await writeFile(join(staging, 'root.json'), root)
  if (files === null) return
  await writeFile(join(staging, 'timestamp.json'), files.timestamp)
  await writeFile(join(staging, 'snapshot.json'), files.snapshot)
  await writeFile(join(staging, 'targets.json'), files.targets)
}

async function runUpdater(
  staging: string,
  refresh: Refresh,
  fetchFile: FetchFile,
  signal: AbortSignal,
): Promise<Refreshed> {
  // Only now: what is on disk is enforced without it, and loading it takes longer than that.
  const [{ Updater }, { DownloadHTTPError }] = await Promise.all([
    import('tuf-js'),
    import('tuf-js/dist/error.js'),
  ])
  const roots: string[] = []
  /** The library flattens some failures to a text; this is the one that happened on the way. */
  let onTheWay: Fault | null = null

  async function downloadBytes(url: string): Promise<Buffer> {
    const name = url.slice(url.lastIndexOf('/') + 1)
    if (name === 'timestamp.json') return refresh.timestamp
    const wanted = { path: `${refresh.path}/${name}`, maxBytes: maxBytesOf(name) }
    const fetched = await fetchFile(wanted, signal)
    if (fetched.kind === 'absent') throw new DownloadHTTPError(`no ${name}`, 404)
    if (fetched.kind !== 'body') {
      onTheWay = fetched.kind === 'fault' ? fetched : fault('http_status', `no ${name}`)
      throw new Error(onTheWay.message)
    }
    if (name.endsWith('.root.json')) roots.push(fetched.body.toString())
    return fetched.body
  }

  const updater = new Updater({
    metadataDir: staging,
    metadataBaseUrl: 'https://view.invalid',
    fetcher: {
      downloadBytes,
      downloadFile: () => Promise.reject(new TypeError('documents are not fetched by the updater')),
    },
    config: { maxRootRotations: MAX_ROTATIONS },
  })
  let failure: Fault | null = null
  try {
    await updater.refresh()
  } catch (error) {
    failure = onTheWay ?? describeRefusal(error)
  }
  const root = readRoot(await readFile(join(staging, 'root.json'), 'utf8'))
  // The last one that was fetched may have been refused.
  const accepted = roots.filter(
    (text) => (readRoot(text)?.version ?? Infinity) <= (root?.version ?? 0),
  )
  return { roots: accepted, result: failure ?? (await readStaging(staging)) }
}

async function readStaging(staging: string): Promise<Metadata> {
  const read = (name: string) => readFile(join(staging, `${name}.json`), 'utf8')
  return {
    timestamp: await read('timestamp'),
    snapshot: await read('snapshot'),
    targets: await read('targets'),
  }
}

function maxBytesOf(name: string): number {
  if (name.endsWith('.root.json')) return MAX_ROOT
  return name.endsWith('.targets.json') ? MAX_TARGETS : MAX_SNAPSHOT
}

/** By the text, because the library has lost the kind of some of its errors by now. */
function describeRefusal(error: unknown): Fault {
  const said = error instanceof Error ? error.message : 'unknown'
  const name = error instanceof Error ? error.constructor.name : ''
  if (name === 'PersistError') return fault('cache_not_written', 'what was fetched cannot be kept')
  if (/was signed by \d+\/\d+ keys/.test(said))
    return fault('bad_signature', 'the signature of the policy does not hold')
  if (/expired/i.test(said)) return fault('expired', 'what was signed has expired')
  if (/less than current version|Expected version|does not match|doesn't match/.test(said))
    return fault('older_version', 'these are older versions than were accepted before')
  if (/hash|length/i.test(said)) return fault('mixed', 'the files do not belong together')
  return fault('malformed', 'there is metadata that this agent does not accept')
}
