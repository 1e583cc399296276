import type { EventRecord } from '../store/records.ts'
import { nextTurn } from '../platform/next-turn.ts'
import type { StoreReader, StoreWriter } from '../store/store.ts'
import type { Author } from './author.ts'
import { formatCanonicalJson } from './canonical-json.ts'
import type { Change, ChangeScope, ChangeRecorder } from '../store/change.ts'
import { EMPTY_HISTORY, eventText, hashEventText } from './event-hash.ts'

/** Events written in one go: of a large document there are tens of thousands. */
const SLICE = 250
/** Length of the texts written in one go; one event of a policy may have 800 KB. */
const SLICE_BYTES = 256 * 1024

/**
 * Throws 403 when the history of the organization has no room for such changes. Without an
 * organization there are none, and only an answer is kept.
 */
export type RequireHistoryRoom = (
  reader: Pick<StoreReader, 'events'>,
  org: string | null,
  made: { readonly author: Author; readonly changes: readonly Change[] },
) => Promise<void>

/** The changes of one transaction, on their way into the histories of its organizations. */
export interface ChangeLog extends ChangeRecorder {
  /**
   * Appends the recorded changes; returns the organizations whose history grew. Throws the error of
   * `requireRoom`.
   */
  append(author: Author, at: Date): Promise<string[]>
}

interface ScopedChange extends Change {
  /** The organizations when the change was recorded. */
  readonly orgs: readonly string[]
}

/**
 * Changes become events at the end of the transaction. Only then the organizations of a new user
 * are known, and the revision that other readers see after the transaction.
 */
export function createChangeLog(
  writer: StoreWriter,
  requireRoom: RequireHistoryRoom = async () => {},
): ChangeLog {
  const changes: ScopedChange[] = []
  let keepsAnswer = false

  return {
    noteAnswer() {
      keepsAnswer = true
    },

    async record(change) {
      if (change.hidden !== true && isSame(change)) return
      const { scope } = change
      const orgs = isOfOne(scope) ? [scope.org] : await organizationsOf(writer, scope)
      changes.push({ ...change, orgs })
    },

    async append(author, at) {
      const [only] = changes
      if (only === undefined && keepsAnswer) await requireRoom(writer, null, { author, changes })
      if (only !== undefined && changes.length === 1 && isOfOne(only.scope)) {
        // Nearly always.
        const { org } = only.scope
        await requireRoom(writer, org, { author, changes })
        await appendInSlices(writer, org, { author, at, changes })
        return [org]
      }
      const perOrganization = new Map<string, Change[]>()
      for (const change of changes) {
        // Before and after: a user who leaves is a member before, a user who joins is one after.
        const orgs = new Set([...change.orgs, ...(await organizationsOf(writer, change.scope))])
        for (const org of orgs) {
          const list = perOrganization.get(org)
          if (list === undefined) perOrganization.set(org, [change])
          else list.push(change)
        }
      }
      for (const [org, list] of perOrganization) {
        await requireRoom(writer, org, { author, changes: list })
        await appendInSlices(writer, org, { author, at, changes: list })
      }
      return [...perOrganization.keys()]
    },
  }
}

/** Others have their turns between two slices. */
async function appendInSlices(
  writer: StoreWriter,
  org: string,
  { author, at, changes }: { author: Author; at: Date; changes: readonly Change[] },
): Promise<void> {
  const revision = (await writer.organizations.find(org))?.revision ?? 0
  let head = (await writer.events.head(org)) ?? EMPTY_HISTORY
  let slice: EventRecord[] = []
  let bytes = 0
  for (const { kind, subject, before, after } of changes) {
    if (slice.length === SLICE || bytes >= SLICE_BYTES) {
      await writer.events.append(org, slice)
      await nextTurn()
      slice = []
      bytes = 0
    }
    const event = {
      org,
      sequence: head.sequence + 1,
      at: at.toISOString(),
      kind,
      actor: author.actor,
      address: author.address,
      request_id: author.request_id,
      subject,
      before: before === null ? null : { ...before },
      after: after === null ? null : { ...after },
      revision,
      previous_hash: head.hash,
    }
    const text = eventText(event)
    head = { sequence: event.sequence, hash: hashEventText(text) }
    slice.push({ ...event, hash: head.hash })
    bytes += text.length
  }
  await writer.events.append(org, slice)
}

async function organizationsOf(writer: StoreWriter, scope: ChangeScope): Promise<string[]> {
  if (scope === 'everywhere') return writer.organizations.names()
  if (isOfOne(scope)) return [scope.org]
  return writer.memberships.ownersOfAccount(scope.username)
}

function isOfOne(scope: ChangeScope): scope is { readonly org: string } {
  return scope !== 'everywhere' && 'org' in scope
}

function isSame({ before, after }: Change): boolean {
  if (before === null || after === null) return before === after
  return formatCanonicalJson(before) === formatCanonicalJson(after)
}
