import {
  BUNDLE_FORMAT,
  MAX_UPDATE_DOCUMENTS,
  MAX_UPDATE_ROOTS,
  type DeviceView,
} from '@palisade/protocol'
import type { Store } from '../store/store.ts'
import { startOfKept } from './publication/renewal.ts'
import type { ViewRef } from './inspect-view.ts'
import { createLruCache } from '../platform/lru-cache.ts'
import { readViewFiles } from './view-files.ts'
import type { ServedTimestamp } from './publication/view-publisher.ts'

/** Texts that machines which have the same share, in characters. */
const MAX_REMEMBERED = 32 * 1024 * 1024

/** The files that a machine says it has. */
export interface Held {
  readonly view: string | null
  /** Version of the newest root. */
  readonly root: number
  /** Version of the targets file of `view`. */
  readonly targets: number | null
}

/** The text of `GET /api/v1/device/update` that follows the part for one machine alone. */
export interface Updates {
  /**
   * `files` of a bundle as JSON. Throws ApiError 409 when somebody has changed policies meanwhile.
   */
  files(viewRef: ViewRef, timestamp: ServedTimestamp, held: Held): Promise<string>
}

/**
 * Puts together the files that machines lack. After a change a whole fleet lacks the same files, so
 * a text is made once for all machines that have the same files and ask for the same view.
 */
export function createUpdates(deps: { readonly store: Store; readonly now: () => Date }): Updates {
  const texts = createLruCache<string>(MAX_REMEMBERED, (text) => text.length)
  const running = new Map<string, Promise<string>>()

  async function make(
    viewRef: ViewRef,
    { body: timestamp }: ServedTimestamp,
    { root, targets }: Held,
  ): Promise<string> {
    const since = startOfKept(deps.now())
    const bounds = { maxRoots: MAX_UPDATE_ROOTS, maxDocuments: MAX_UPDATE_DOCUMENTS }
    const wanted = { timestamp, since, root, targets, ...bounds }
    return JSON.stringify(await deps.store.read((reader) => readViewFiles(reader, viewRef, wanted)))
  }

  return {
    async files(viewRef, timestamp, { view, root, targets }) {
      const held = { view, root, targets: view === viewRef.id ? targets : null }
      const key = `${viewRef.id} ${timestamp.etag} ${root} ${held.targets}`
      const known = texts.find(key)
      if (known !== null) return known
      const begun = running.get(key) ?? make(viewRef, timestamp, held)
      running.set(key, begun)
      try {
        const text = await begun
        texts.keep(key, text)
        return text
      } finally {
        running.delete(key)
      }
    },
  }
}

/** A bundle, as `bundleSchema` reads it. */
export function joinUpdate(assignment: DeviceView, files: string): string {
  const signed = JSON.stringify(JSON.stringify(assignment))
  return `{"format":"${BUNDLE_FORMAT}","assignment":${signed},"files":${files}}`
}
