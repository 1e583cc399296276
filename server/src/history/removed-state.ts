import type { HistoryItem } from '../store/aggregates/history/event-contract.ts'
import { parseItem, type ItemKind } from './recorded-item.ts'

/** The state that the removed events of an organization lead to. */
export interface RemovedState {
  readonly isWhole: boolean
  readonly items: readonly HistoryItem[]
}

export const NO_EVENTS: RemovedState = { isWhole: false, items: [] }

/**
 * Kinds of which the checkpoint kept no item although removed events may have made some: one of an
 * earlier version has no accounts, and no copies of the rollout that was open. An organization
 * without any cannot be told from it, and its items of these kinds pass.
 */
export function findUnkept({ isWhole, items }: RemovedState): Set<ItemKind> {
  const unkept = new Set<ItemKind>()
  if (!isWhole) return unkept
  const kept = new Set(items.flatMap(parseItem).map(({ item }) => item.kind))
  if (!kept.has('account')) unkept.add('account')
  if (kept.has('rollout') && !kept.has('rollout_policy')) unkept.add('rollout_policy')
  return unkept
}
