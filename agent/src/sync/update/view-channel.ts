import { TIMESTAMP_TAG_CHARACTERS, type Enrolment } from '@palisade/protocol'
import { hash } from 'node:crypto'
import type { TrustedClock } from '../../policy/state/trusted-clock.ts'
import { orderOfText } from '../trust/assignment.ts'
import type { Times } from './sync-status.ts'
import type { Fault } from '../fault.ts'
import { fetchDocuments, fetchTimestamp, pollView, viewPath } from './view-files.ts'
import { fetchUpdate, type HeldFiles } from './fetch-update.ts'
import { verifyView } from '../trust/verify-view.ts'
import { openArchive, type Archive } from './open-archive.ts'
import { refreshView, type Refresh } from './refresh-view.ts'
import { createRevocation, type Revocation } from '../state/revocation.ts'
import type { StateStore } from '../state/state-store.ts'
import { createStateKeeper, type FetchedView, type StateKeeper } from '../state/state-keeper.ts'
import type { TrustedState } from '../trust/trusted-state.ts'
import type { FetchFile } from '../transport/fetch-file.ts'

export interface ViewChannelDeps {
  readonly enrolment: Enrolment
  readonly store: StateStore
  readonly fetchFile: FetchFile
  readonly clock: TrustedClock
}

export interface Offer extends FetchedView {
  readonly kind: 'offer'
  /**
   * Makes it the trusted view, durably. Throws the system's error, which leaves the state
   * unchanged.
   */
  keep(): Promise<void>
}

type Asked = Offer | { readonly kind: 'same' } | Fault

export interface Condition {
  /** Whether the answer that the view is unchanged suffices. */
  readonly isConfirmed: boolean
  /** Asks the server to sign a timestamp after this, in milliseconds since 1970; null for any. */
  readonly issuedAfterMs: number | null
  /** Skips the request for the timestamp alone, which is cheap only if it is unchanged. */
  readonly isNewsExpected: boolean
}

/** The server's views for this machine, and the trusted state. Puts no bundle into force. */
export interface ViewChannel extends Omit<StateKeeper, 'state' | 'keepRoots' | 'keepView'> {
  readonly revocation: Revocation
  times(): Times
  /** Version of the newest accepted assignment; 0 before the first. */
  assignmentVersion(): number
  /** Asks once. Never rejects. Not reentrant. */
  fetch(condition: Condition, signal: AbortSignal): Promise<Asked>
  /** Opens a bundle file, verified as if the server had sent its content. */
  open(body: readonly Uint8Array[], signal: AbortSignal): Promise<Offer | Fault>
}

export function createViewChannel(deps: ViewChannelDeps): ViewChannel {
  const { enrolment, store, clock } = deps
  const { org } = enrolment
  const keeper = createStateKeeper(deps)
  const revocation = createRevocation(keeper)
  /** Tag of the trusted timestamp, if this process fetched it; see `tagOf`. */
  let etag: string | null = null

  async function verifyArchive(
    { view: id, assignment, fetchFile }: Archive,
    signal: AbortSignal,
  ): Promise<Offer | Fault> {
    const found = await fetchTimestamp(fetchFile, { org, view: id }, signal)
    if (found.kind === 'fault') return found
    const timestamp = found.body
    const former = keeper.state()
    const refresh = {
      path: `${viewPath(org, id)}/metadata`,
      root: former.roots.at(-1) ?? enrolment.root,
      kept: keptOf(former, id),
      timestamp,
    }
    const { roots, result } = await refreshView(refresh, fetchFile, signal)
    const root = await keeper.keepRoots(roots)
    if ('kind' in root) return root
    if ('kind' in result) return result
    const state = keeper.state()
    const files = { id, roots: state.roots.length, assignment, ...result }
    const bounds = clock.bounds()
    const context = { enrolment, root, state, bounds, isKept: false }
    const view = verifyView(files, context)
    if ('kind' in view) return view
    const documents = await fetchDocuments({ org, store, fetchFile }, view, signal)
    if (documents.kind === 'fault') return documents
    const keep = async (): Promise<void> => {
      await keeper.keepView(view)
      etag = tagOf(timestamp)
    }
    return { kind: 'offer', view, texts: documents.texts, keep }
  }

  async function fetchView(
    { isConfirmed, isNewsExpected, issuedAfterMs }: Condition,
    signal: AbortSignal,
  ): Promise<Asked> {
    const { fetchFile } = deps
    const state = keeper.state()
    const tag = isConfirmed ? etag : null
    if (!isNewsExpected && tag !== null && state.view !== null) {
      const { assignmentVersion } = heldOf(keeper, tag)
      const known = { org, view: state.view.id, etag: tag, assignmentVersion }
      const polled = await pollView(fetchFile, known, signal)
      if (polled.kind !== 'changed') return polled
    }
    const held = { ...heldOf(keeper, tag), nonce: revocation.challenge(), issuedAfterMs }
    const fetched = await fetchUpdate(fetchFile, enrolment, held, signal)
    return fetched.kind === 'archive' ? verifyArchive(fetched, signal) : fetched
  }

  return {
    ...keeper,
    revocation,
    assignmentVersion: () => orderOfText(keeper.state().newest_assignment).version,
    times: () => ({
      nowMs: clock.now(),
      mendedMs: clock.bounds().expiryMs,
      issuedMs: keeper.state().issued_ms,
    }),
    fetch: fetchView,
    async open(body, signal) {
      const archive = await openArchive(body, enrolment)
      return archive.kind === 'fault' ? archive : verifyArchive(archive, signal)
    },
  }
}

/**
 * Computes the server's tag from the verified timestamp. The received tag is not used: a sender
 * that once pairs an older timestamp with the tag of the newest would make the server itself answer
 * 304 from then on.
 */
function tagOf(timestamp: Uint8Array): string {
  return `"${hash('sha256', timestamp, 'base64url').slice(0, TIMESTAMP_TAG_CHARACTERS)}"`
}

function heldOf(
  keeper: Pick<StateKeeper, 'state' | 'root'>,
  etag: string | null,
): HeldFiles & { readonly assignmentVersion: number } {
  const state = keeper.state()
  const view = state.view?.id ?? null
  const targets = keptOf(state, view)?.versions.targets ?? null
  const assignmentVersion = orderOfText(state.newest_assignment).version
  return { view, root: keeper.root()?.version ?? 1, targets, etag, assignmentVersion }
}

/** The files of that view and their versions, if still known: a change of keys resets versions. */
function keptOf({ view, marks }: TrustedState, id: string | null): Refresh['kept'] {
  if (view === null || view.id !== id || !Object.hasOwn(marks, id)) return null
  const versions = marks[id]
  return versions === undefined ? null : { ...view, versions }
}
