import type { EventRecord } from '../store/records.ts'
import { nextTurn } from '../next-turn.ts'
import type { StoreWriter } from '../store/store.ts'
import type { Author } from './author.ts'
import { formatCanonicalJson } from './canonical-json.ts'
import type { Change, ChangePlace } from './change.ts'
import { EMPTY_HISTORY, hashEvent } from './event-hash.ts'

/** Events written in one go: of a large document there are tens of thousands. */
const SLICE = 250

/** The changes of one transaction, on their way into the histories of its organizations. */
export interface ChangeLog {
  record(change: Change): Promise<void>
  /** Appends what was recorded; answers the organizations whose history grew. */
  append(author: Author, at: Date): Promise<string[]>
}

interface PlacedChange extends Change {
  /** As it was recorded. */
  readonly orgs: readonly string[]
}

/**
 * Changes become events at the end of the transaction: then it is known which organizations a new
 * user is in, and which revision the organization has for everybody else, who sees all of the
 * transaction or nothing.
 */
export function createChangeLog(writer: StoreWriter): ChangeLog {
  const changes: PlacedChange[] = []

  return {
    async record(change) {
      if (change.hidden !== true && isSame(change)) return
      const { place } = change
      const orgs = isOfOne(place) ? [place.org] : await organizationsOf(writer, place)
      changes.push({ ...change, orgs })
    },

    async append(author, at) {
      const [only] = changes
      if (only !== undefined && changes.length === 1 && isOfOne(only.place)) {
        // Nearly always.
        const { org } = only.place
        await writer.events.append(org, await chain(writer, org, { author, at, changes }))
        return [org]
      }
      const perOrganization = new Map<string, Change[]>()
      for (const change of changes) {
        // Both: somebody who leaves is in it before, somebody who joins is in it after.
        const orgs = new Set([...change.orgs, ...(await organizationsOf(writer, change.place))])
        for (const org of orgs) {
          const list = perOrganization.get(org)
          if (list === undefined) perOrganization.set(org, [change])
          else list.push(change)
        }
      }
      for (const [org, list] of perOrganization)
        for (let first = 0; first < list.length; first += SLICE) {
          if (first > 0) await nextTurn()
          const slice = { author, at, changes: list.slice(first, first + SLICE) }
          await writer.events.append(org, await chain(writer, org, slice))
        }
      return [...perOrganization.keys()]
    },
  }
}

async function chain(
  writer: StoreWriter,
  org: string,
  { author, at, changes }: { author: Author; at: Date; changes: readonly Change[] },
): Promise<EventRecord[]> {
  const organization = await writer.organizations.find(org)
  let head = (await writer.events.head(org)) ?? EMPTY_HISTORY
  return changes.map(({ kind, subject, before, after }) => {
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
      revision: organization?.revision ?? 0,
      previous_hash: head.hash,
    }
    head = { sequence: event.sequence, hash: hashEvent(event) }
    return { ...event, hash: head.hash }
  })
}

async function organizationsOf(writer: StoreWriter, place: ChangePlace): Promise<string[]> {
  if (place === 'everywhere') return writer.organizations.names()
  if (isOfOne(place)) return [place.org]
  return writer.memberships.ownersOfAccount(place.username)
}

function isOfOne(place: ChangePlace): place is { readonly org: string } {
  return place !== 'everywhere' && 'org' in place
}

function isSame({ before, after }: Change): boolean {
  if (before === null || after === null) return before === after
  return formatCanonicalJson(before) === formatCanonicalJson(after)
}
