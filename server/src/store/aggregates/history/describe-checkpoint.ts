import { createHash } from 'node:crypto'
import { nextTurn } from '../../../platform/next-turn.ts'
import type { EventReader, HistoryItem } from './event-contract.ts'

/** Items read at once. */
const PAGE = 500

/** A checkpoint as the event of its removal shows it. */
export interface DescribedCheckpoint {
  readonly removed_through: number
  readonly hash: string
  readonly is_whole: boolean
  /** SHA-256 of the items as the removed events leave them. */
  readonly items_sha256: string
}

/** Null while no event was removed. */
export async function describeCheckpoint(
  events: EventReader,
  org: string,
): Promise<DescribedCheckpoint | null> {
  const checkpoint = await events.checkpoint(org)
  if (checkpoint === null) return null
  const digest = createHash('sha256')
  for await (const { item, recorded } of readHistoryItems(events, org))
    digest.update(`${JSON.stringify([item, recorded])}\n`)
  const { sequence, hash, is_whole } = checkpoint
  return { removed_through: sequence, hash, is_whole, items_sha256: digest.digest('hex') }
}

export async function* readHistoryItems(
  events: EventReader,
  org: string,
): AsyncGenerator<HistoryItem> {
  let after = ''
  for (;;) {
    const page = await events.listItems(org, { after, limit: PAGE })
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.item
    await nextTurn()
  }
}
