import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApiError } from '../../platform/api-error.ts'
import type { ViewRecord } from '../../store/distribution-records.ts'
import type { Store, StoreWriter } from '../../store/store.ts'
import type { ViewBase } from '../content/formatted-policies.ts'
import {
  inspectView,
  requireOrganization,
  type FoundView,
  type ViewRequest,
} from '../inspect-view.ts'
import type { OpenKey } from '../keys/role-key.ts'
import { insertDocuments } from './insert-documents.ts'
import { signView, type SignedView } from './publish-view.ts'
import { createViewStorage } from './store-views.ts'
import { ensureTrust, isRootMissing } from '../keys/trust.ts'
import { createViewContents, type ViewContent } from '../content/view-content.ts'

/** So long is read, or signed, before everybody else has a turn. */
const SLICE_MS = 10
/** A view takes a third of a millisecond to sign and to write. */
const VIEWS_OF_TRANSACTION = 32
/** Waiting transactions share a commit; other writers wait for no more than these. */
const TRANSACTIONS_AT_ONCE = 4

/**
 * Finds the view, signed now where that is due. Throws ApiError 403 for more policies than a view
 * may have, and StoreError.
 */
export type FindView = (request: ViewRequest) => Promise<FoundView>

interface PendingRequest extends ViewRequest {
  readonly resolve: (found: FoundView) => void
  readonly reject: (error: unknown) => void
}

/** A view to be signed; the content is that of `revision`. */
interface Changed {
  readonly pending: PendingRequest
  readonly generation: number
  readonly revision: number
  readonly content: ViewContent
}

/**
 * Requests in the same turn of the event loop about views of one organization are answered
 * together: a change is signed for five hundred views with a few commits instead of as many.
 */
export function createViewBatches(deps: {
  readonly store: Pick<Store, 'read' | 'transaction' | 'generation'>
  readonly now: () => Date
  readonly openKey: OpenKey
}): FindView {
  const { store, now, openKey } = deps
  const contents = createViewContents()
  const storeViews = createViewStorage()

  async function answer(org: string, requests: readonly PendingRequest[]): Promise<void> {
    for (const base of basesOf(requests)) await contents.prepare(store, org, base)
    const changed: Changed[] = []
    const left = [...requests]
    while (left.length > 0) {
      changed.push(...(await inspectSlice(org, left)))
      if (left.length > 0) await nextTurn()
    }
    const documents = new Set(changed.flatMap(({ content }) => content.documents))
    await insertDocuments(store, org, [...documents], now)
    // In the order of their rows: each commit then writes other pages of the database.
    const inOrder = changed.toSorted((a, b) =>
      a.pending.viewRef.id < b.pending.viewRef.id ? -1 : 1,
    )
    const parts = split(inOrder, VIEWS_OF_TRANSACTION)
    const publishParts = async (): Promise<void> => {
      for (let part = parts.shift(); part !== undefined; part = parts.shift())
        await publishPart(org, part)
    }
    await Promise.all(Array.from({ length: TRANSACTIONS_AT_ONCE }, publishParts))
  }

  /** Takes as many from `left` as there is time for; answers those that are to be signed. */
  async function inspectSlice(org: string, left: PendingRequest[]): Promise<Changed[]> {
    const generation = store.generation()
    return store.read(async (reader) => {
      const untilMs = performance.now() + SLICE_MS
      const organization = await requireOrganization(reader, org)
      const root = await reader.trust.newestRoot(org)
      const at = now()
      const isMissing = await isRootMissing(reader, org, root, at.getTime())
      const seen = { reader, contents, organization, root, isRootMissing: isMissing, now: at }
      const changed: Changed[] = []
      while (left[0] !== undefined && performance.now() < untilMs) {
        const pending = left[0]
        const found = await settleRefusal(pending, () => inspectView(seen, pending))
        left.shift()
        if (found === null) continue
        const { revision } = organization
        if (found.content === null) pending.resolve({ generation, revision, record: found.record })
        else changed.push({ pending, generation, revision, content: found.content })
      }
      return changed
    })
  }

  /** One that cannot be signed must not keep the others from it. */
  async function publishPart(org: string, part: readonly Changed[]): Promise<void> {
    try {
      const records = await store.transaction((writer) => publish(writer, org, part))
      for (const [index, { pending, generation, revision }] of part.entries()) {
        const record = records[index]
        if (record) pending.resolve({ generation, revision, record })
      }
    } catch (error) {
      if (part.length > 1) for (const each of part) await publishPart(org, [each])
      else part[0]?.pending.reject(error)
    }
  }

  /** Policies committed since the inspection are read again, so that the view includes them. */
  async function publish(
    writer: StoreWriter,
    org: string,
    part: readonly Changed[],
  ): Promise<(ViewRecord | null)[]> {
    const organization = await requireOrganization(writer, org)
    const at = now()
    const publishing = { writer, trust: await ensureTrust(writer, org, at, openKey), now: at }
    const signed: (SignedView | null)[] = []
    for (const { pending, revision, content: inspected } of part) {
      const { viewRef, isRenewal } = pending
      const content =
        organization.revision === revision
          ? inspected
          : await settleRefusal(pending, () =>
              contents.readUncommitted(writer, organization, viewRef),
            )
      signed.push(content && (await signView({ ...publishing, isRenewal }, viewRef, content)))
    }
    await storeViews(
      publishing,
      org,
      signed.filter((each) => each !== null),
    )
    return signed.map((each) => each && (each.publication?.view ?? each.former))
  }

  const gather = createGathering((org, requests: readonly PendingRequest[]) => {
    answer(org, requests).catch((error: unknown) => {
      for (const { reject } of requests) reject(error)
    })
  })
  return (request) =>
    new Promise((resolve, reject) => gather(request.viewRef.org, { ...request, resolve, reject }))
}

function basesOf(requests: readonly PendingRequest[]): Iterable<ViewBase | null> {
  return new Map(requests.map(({ viewRef: { base } }) => [base?.rollout, base])).values()
}

/**
 * Collects the requests for one key in one turn of the event loop, and hands them over together.
 */
function createGathering<T>(
  ready: (key: string, values: readonly T[]) => void,
): (key: string, value: T) => void {
  const gathered = new Map<string, T[]>()
  return (key, value) => {
    const values = gathered.get(key)
    if (values !== undefined) {
      values.push(value)
      return
    }
    const first = [value]
    gathered.set(key, first)
    setImmediate(() => {
      gathered.delete(key)
      ready(key, first)
    })
  }
}

/** Null when this request alone was refused. */
async function settleRefusal<T>(
  { reject }: PendingRequest,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    reject(error)
    return null
  }
}

function split<T>(values: readonly T[], length: number): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < values.length; start += length)
    parts.push(values.slice(start, start + length))
  return parts
}
