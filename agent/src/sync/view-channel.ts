import type { Enrolment } from '@palisade/protocol'
import type { TrustedClock } from '../state/trusted-clock.ts'
import type { Fault } from './fault.ts'
import { fetchDocuments } from './fetch-documents.ts'
import { findView, viewPath, type FoundView } from './find-view.ts'
import { judgeView } from './judge-view.ts'
import { openArchive } from './open-archive.ts'
import { refreshView } from './refresh-view.ts'
import type { StateStore } from './state-store.ts'
import { createTrust, type FetchedView, type Trust } from './trust.ts'
import type { FetchFile } from './view-client.ts'

export interface ViewChannelDeps {
  readonly enrolment: Enrolment
  readonly store: StateStore
  readonly fetchFile: FetchFile
  readonly clock: TrustedClock
}

export interface Offer extends FetchedView {
  readonly kind: 'offer'
  /** Makes it what this machine trusts, durably. Throws the system's error; then nothing changed. */
  keep(): Promise<void>
}

/** What the server has for this machine, and what is trusted of it. Nothing is in force by it. */
export interface ViewChannel extends Omit<Trust, 'state' | 'keepRoots' | 'keepView'> {
  /** Asks once; `isConfirmed` says whether a 304 will do. Never rejects. Not reentrant. */
  fetch(isConfirmed: boolean, signal: AbortSignal): Promise<Offer | { kind: 'same' } | Fault>
  /** The same for a bundle file: judged in every way as if the server had sent what it holds. */
  open(body: Uint8Array, signal: AbortSignal): Promise<Offer | { kind: 'same' } | Fault>
}

export function createViewChannel(deps: ViewChannelDeps): ViewChannel {
  const { enrolment, store, clock } = deps
  const { org } = enrolment
  const trust = createTrust(deps)
  /** Of the timestamp that is trusted, when this process fetched it. */
  let etag: string | null = null

  async function update(
    found: FoundView,
    fetchFile: FetchFile,
    signal: AbortSignal,
  ): Promise<Offer | Fault> {
    const former = trust.state()
    const refresh = {
      path: `${viewPath(org, found.id)}/metadata`,
      root: former.roots.at(-1) ?? enrolment.root,
      files: former.view?.id === found.id ? former.view : null,
      timestamp: found.timestamp,
    }
    const { roots, result } = await refreshView(refresh, fetchFile, signal)
    const root = await trust.keepRoots(roots)
    if ('kind' in root) return root
    if ('kind' in result) return result
    const { id, assignment } = found
    const state = trust.state()
    const files = { id, roots: state.roots.length, assignment, ...result }
    const bounds = clock.bounds()
    const view = judgeView(files, { enrolment, root, state, bounds, isKept: false })
    if ('kind' in view) return view
    const documents = await fetchDocuments({ org, store, fetchFile }, view, signal)
    if (documents.kind === 'fault') return documents
    const keep = async (): Promise<void> => {
      await trust.keepView(view)
      etag = found.etag
    }
    return { kind: 'offer', view, texts: documents.texts, keep }
  }

  async function ask(
    fetchFile: FetchFile,
    condition: string | null,
    signal: AbortSignal,
  ): Promise<Offer | { kind: 'same' } | Fault> {
    const known = { org, view: trust.state().view?.id ?? null, etag: condition }
    const found = await findView(fetchFile, known, signal)
    return found.kind === 'found' ? update(found, fetchFile, signal) : found
  }

  return {
    ...trust,
    fetch: (isConfirmed, signal) => ask(deps.fetchFile, isConfirmed ? etag : null, signal),
    async open(body, signal) {
      const archive = openArchive(body, enrolment)
      return archive.kind === 'fault' ? archive : ask(archive.fetchFile, null, signal)
    },
  }
}
