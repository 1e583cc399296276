import { hash } from 'node:crypto'
import type { OrganizationRecord, RootRecord, ViewRecord } from '../../store/records.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import { findDue, isTimestampDue, publishView } from './publish-view.ts'
import { createRecent } from './recent.ts'
import { isRootDue } from './trust.ts'
import { createViewContents, type ViewContent, type ViewContents } from './view-content.ts'

/** Timestamps that are remembered; each has about a kilobyte. */
const MAX_VIEWS = 20_000
const TAG_CHARACTERS = 22

/** Which set of teams, by name and by what the name stands for. */
export interface ViewPlace {
  readonly org: string
  readonly id: string
  readonly teams: readonly string[]
}

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

interface KnownView {
  /** `Store.generation` from before the store was asked. */
  readonly generation: number
  /** Revision at which the content was compared last. */
  readonly revision: number
  readonly record: ViewRecord
  readonly served: ServedTimestamp
}

export function createViewPublisher(deps: {
  readonly store: Store
  readonly now: () => Date
}): ViewPublisher {
  const { store, now } = deps
  const views = createRecent<KnownView>(MAX_VIEWS, () => 1)
  const contents = createViewContents()
  const running = new Map<string, Look>()

  function findKnown(key: string): KnownView | null {
    const view = views.find(key)
    if (view === null || view.generation !== store.generation()) return null
    return isTimestampDue(view.record, now().getTime()) ? null : view
  }

  async function inquire(key: string, place: ViewPlace): Promise<KnownView> {
    const generation = store.generation()
    const before = views.find(key)
    const found = await store.read((reader) =>
      inspect(reader, contents, place, { before, now: now() }),
    )
    const record = found.kind === 'current' ? found.record : await publish(place, found)
    const isSame = before?.record.timestamp_version === record.timestamp_version
    const served = isSame ? before.served : serve(record.timestamp_body)
    const view = { generation, revision: found.revision, record, served }
    views.keep(key, view)
    return view
  }

  /** What was committed since it was inspected is read again, so that it is in the view as well. */
  function publish(place: ViewPlace, found: Changed): Promise<ViewRecord> {
    return store.transaction(async (writer) => {
      const organization = await requireOrganization(writer, place.org)
      const content =
        organization.revision === found.revision
          ? found.content
          : await contents.readUncommitted(writer, organization, place.teams)
      return publishView(writer, place, content, now())
    })
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

interface Current {
  readonly kind: 'current'
  readonly revision: number
  readonly record: ViewRecord
}

interface Changed {
  readonly kind: 'changed'
  readonly revision: number
  readonly content: ViewContent
}

/** Reads the policies only when something was changed since they were compared with the view. */
async function inspect(
  reader: StoreReader,
  contents: ViewContents,
  place: ViewPlace,
  known: { readonly before: KnownView | null; readonly now: Date },
): Promise<Current | Changed> {
  const { before, now } = known
  const organization = await requireOrganization(reader, place.org)
  const { revision } = organization
  const record = await reader.views.find(place.org, place.id)
  const root = await reader.trust.newestRoot(place.org)
  const isCompared =
    before?.revision === revision && before.record.content_hash === record?.content_hash
  const content = isCompared ? null : await contents.read(reader, organization, place.teams)
  const contentHash = content?.hash ?? record?.content_hash ?? ''
  if (record !== null && isNothingDue(record, root, contentHash, now))
    return { kind: 'current', revision, record }
  return {
    kind: 'changed',
    revision,
    content: content ?? (await contents.read(reader, organization, place.teams)),
  }
}

async function requireOrganization(reader: StoreReader, org: string): Promise<OrganizationRecord> {
  const organization = await reader.organizations.find(org)
  if (organization !== null) return organization
  throw new StoreError('ERR_STORE_NOT_FOUND', `organization \`${org}\` is not there`)
}

function isNothingDue(
  record: ViewRecord,
  root: RootRecord | null,
  contentHash: string,
  now: Date,
): boolean {
  if (root === null || isRootDue(root, now.getTime())) return false
  return findDue(record, root, contentHash, now.getTime()) === 'nothing'
}
