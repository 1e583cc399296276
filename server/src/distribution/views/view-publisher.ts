import { hash } from 'node:crypto'
import type { Store } from '../../store/store.ts'
import type { FoundView, ViewPlace } from './inspect-view.ts'
import { rememberOpenedKeys, type OpenKey } from './opened-keys.ts'
import { isTimestampDue } from './publish-view.ts'
import { createRecent } from './recent.ts'
import { createViewBatches } from './view-batches.ts'

/** Timestamps that are remembered; each has about a kilobyte. */
const MAX_VIEWS = 20_000
const TAG_CHARACTERS = 22

/** `timestamp.json` as it is sent, and its strong entity tag with the quotes. */
export interface ServedTimestamp {
  readonly body: Uint8Array
  readonly etag: string
}

export interface ViewPublisher {
  /** The timestamp in force while nothing was committed since it was asked for; else null. */
  known(org: string, id: string): ServedTimestamp | null
  /**
   * The timestamp of everything that was committed before the call, signed now where that is due.
   * Throws ApiError 403 for more policies than a view may have, and StoreError.
   */
  current(place: ViewPlace): Promise<ServedTimestamp>
}

/** Somebody's question to the store that is under way. */
interface Look {
  readonly generation: number
  readonly view: Promise<KnownView>
}

interface KnownView extends FoundView {
  readonly served: ServedTimestamp
}

export function createViewPublisher(deps: {
  readonly store: Store
  readonly now: () => Date
  readonly openKey?: OpenKey
}): ViewPublisher {
  const { store, now, openKey = rememberOpenedKeys() } = deps
  const views = createRecent<KnownView>(MAX_VIEWS, () => 1)
  const running = new Map<string, Look>()
  const findView = createViewBatches({ store, now, openKey })

  function findKnown(key: string): KnownView | null {
    const view = views.find(key)
    if (view === null || view.generation !== store.generation()) return null
    return isTimestampDue(view.record, now().getTime()) ? null : view
  }

  async function inquire(key: string, place: ViewPlace): Promise<KnownView> {
    const before = views.find(key)
    const found = await findView(place, before)
    const isSame = before?.record.timestamp_version === found.record.timestamp_version
    const served = isSame ? before.served : serve(found.record.timestamp_body)
    const view = { ...found, served }
    views.keep(key, view)
    return view
  }

  return {
    known: (org, id) => findKnown(formatKey(org, id))?.served ?? null,

    async current(place) {
      const key = formatKey(place.org, place.id)
      const known = findKnown(key)
      if (known !== null) return known.served
      const generation = store.generation()
      // Whoever asks at the same time about the same state is answered by the same work.
      const started = running.get(key)
      if (started?.generation === generation) return (await started.view).served
      const look = { generation, view: inquire(key, place) }
      running.set(key, look)
      try {
        return (await look.view).served
      } finally {
        if (running.get(key) === look) running.delete(key)
      }
    },
  }
}

function formatKey(org: string, id: string): string {
  return `${org}/${id}`
}

function serve(body: Uint8Array): ServedTimestamp {
  return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, TAG_CHARACTERS)}"` }
}
