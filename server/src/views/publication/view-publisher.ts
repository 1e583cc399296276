import { TIMESTAMP_TAG_CHARACTERS } from '@palisade/protocol'
import { hash } from 'node:crypto'
import type { Store } from '../../store/store.ts'
import { isWithin, termOfTimestamp, type Term } from './renewal.ts'
import type { FoundView, ViewRef } from '../inspect-view.ts'
import { rememberOpenedKeys, type OpenKey } from '../keys/role-key.ts'
import { createLruCache } from '../../platform/lru-cache.ts'
import { createViewBatches } from './view-batches.ts'
import { createViewSweeper } from './view-sweeper.ts'

/** Timestamps that are remembered; each has about a kilobyte. */
const MAX_VIEWS = 20_000

/**
 * `timestamp.json` as it is sent, and its strong entity tag with the quotes. A text: Node sends it
 * in one write with the headers before it, and bytes in two, a seventh of a bare answer's cost.
 */
export interface ServedTimestamp {
  readonly body: string
  readonly etag: string
}

export interface ViewPublisher {
  /** The timestamp in force if there was no commit since it was read; else null. */
  known(viewRef: ViewRef): ServedTimestamp | null
  /**
   * The timestamp of everything that was committed before the call, signed now where that is due.
   * Throws ApiError 403 for more policies than a view may have, and StoreError.
   */
  current(viewRef: ViewRef): Promise<ServedTimestamp>
  /**
   * Finds the timestamp for a machine that needs one issued after `afterMs`, milliseconds since
   * 1970: signed before its hour, but no sooner than `RENEWAL_SECONDS` after the last, so it may be
   * earlier than asked for.
   */
  renewed(viewRef: ViewRef, afterMs: number): Promise<ServedTimestamp>
  /**
   * The revision at which that view last became another; signed now where that is due, likewise.
   */
  revision(viewRef: ViewRef): Promise<number>
  /** Called after a commit: views that machines fetched lately are signed before they ask again. */
  changed(orgs: readonly string[]): void
  close(): Promise<void>
}

/** Somebody's question to the store that is under way. */
interface Look {
  readonly generation: number
  readonly view: Promise<KnownView>
}

interface KnownView extends FoundView {
  readonly served: ServedTimestamp
  /** The term of the timestamp. */
  readonly term: Term
}

export function createViewPublisher(deps: {
  readonly store: Store
  readonly now: () => Date
  readonly openKey?: OpenKey
}): ViewPublisher {
  const { store, now, openKey = rememberOpenedKeys() } = deps
  const views = createLruCache<KnownView>(MAX_VIEWS, () => 1)
  const running = new Map<string, Look>()
  const findView = createViewBatches({ store, now, openKey })

  /** Finds a view by the id alone: it is an HMAC under a secret of the organization's own. */
  function findKnown(id: string, isRenewal = false): KnownView | null {
    const view = views.find(id)
    if (view === null || view.generation !== store.generation()) return null
    const term = isRenewal ? termOfTimestamp(view.record, true) : view.term
    return isWithin(term, now().getTime()) ? view : null
  }

  async function find(viewRef: ViewRef, isRenewal: boolean): Promise<KnownView> {
    const before = views.find(viewRef.id)
    const found = await findView({ viewRef, before, isRenewal })
    const isSame = before?.record.timestamp_version === found.record.timestamp_version
    const served = isSame ? before.served : serve(found.record.timestamp_body)
    const view = { ...found, served, term: termOfTimestamp(found.record) }
    views.keep(viewRef.id, view)
    return view
  }

  async function current(viewRef: ViewRef, isRenewal = false): Promise<KnownView> {
    const known = findKnown(viewRef.id, isRenewal)
    if (known !== null) return known
    const generation = store.generation()
    // Concurrent requests for the same state share one run of the work.
    const key = `${viewRef.id} ${isRenewal}`
    const started = running.get(key)
    if (started?.generation === generation) return started.view
    const look = { generation, view: find(viewRef, isRenewal) }
    running.set(key, look)
    try {
      return await look.view
    } finally {
      if (running.get(key) === look) running.delete(key)
    }
  }

  const sweeper = createViewSweeper({ sign: (viewRef) => current(viewRef), now })
  return {
    known: ({ id }) => findKnown(id)?.served ?? null,
    async current(viewRef) {
      sweeper.asked(viewRef)
      return (await current(viewRef)).served
    },
    async renewed(viewRef, afterMs) {
      sweeper.asked(viewRef)
      const view = await current(viewRef)
      const isLater = Date.parse(view.record.timestamp_signed_at) >= afterMs + 1000
      return (isLater ? view : await current(viewRef, true)).served
    },
    revision: async (viewRef) => (await current(viewRef)).record.revision,
    changed: (orgs) => sweeper.changed(orgs),
    close: () => sweeper.close(),
  }
}

function serve(body: Uint8Array): ServedTimestamp {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, TIMESTAMP_TAG_CHARACTERS)}"`
  return { body: Buffer.from(body).toString(), etag }
}
