import type { StoreReader } from '../store/store.ts'
import { readRemovedState } from './removals.ts'
import { createRecordedState } from './recorded-state.ts'
import { verifyHistory, type HistoryVerdict, type VerifyOptions } from './verify-history.ts'
import { describeDifference, verifyState, type StateDifference } from './verify-state.ts'

/** The chain of one organization, and its state where that was asked for. */
export interface OrganizationVerdict {
  readonly history: HistoryVerdict
  /** Null when the state was not compared: a damaged history gives no state to compare with. */
  readonly differences: readonly StateDifference[] | null
}

/** Follows the chain and, with `state`, compares the stored rows with it, all in one snapshot. */
export async function verifyOrganization(
  reader: StoreReader,
  org: string,
  options: Omit<VerifyOptions, 'onEvent'> & { readonly state: boolean },
): Promise<OrganizationVerdict> {
  if (!options.state)
    return { history: await verifyHistory(reader, org, options), differences: null }
  const recorded = createRecordedState(await readRemovedState(reader.events, org))
  const onEvent = recorded.apply
  const history = await verifyHistory(reader, org, { ...options, onEvent })
  const differences = history.intact ? await verifyState(reader, org, recorded) : null
  return { history, differences }
}

/** One line for each fault; an empty list for an organization in order. */
export function describeFaults({ history, differences }: OrganizationVerdict): string[] {
  if (!history.intact) return [describeDamage(history)]
  return (differences ?? []).map(describeDifference)
}

function describeDamage(verdict: Extract<HistoryVerdict, { readonly intact: false }>): string {
  const { org, sequence } = verdict
  const where = `history of \`${org}\``
  switch (verdict.damage) {
    case 'edited':
      return `${where}: event ${sequence} was edited`
    case 'removed':
      return `${where}: event ${sequence} was removed`
    case 'unlinked':
      return (
        `${where}: event ${sequence} does not follow its predecessor; ` +
        'events were inserted, replaced or reordered'
      )
    case 'truncated':
      return `${where}: event ${sequence} and all later ones were cut off`
    case 'appended':
      return `${where}: event ${sequence} was not written by the server`
    case 'missing':
      return `${where}: it is missing`
    case 'checkpoint':
      return (
        `${where}: the checkpoint after removed event ${sequence} ` +
        'does not match the event of the removal'
      )
    case 'other_history':
      return (
        `${where}: no event has the given head; ` +
        'the history was rewritten or cut off, or the event was removed by age'
      )
  }
}
