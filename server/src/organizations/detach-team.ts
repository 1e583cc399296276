import type { DeleteTeamQuery } from '@palisade/protocol'
import { nextTimestamp } from '../platform/timestamp.ts'
import { ApiError } from '../platform/api-error.ts'
import { quote } from '../http/input/describe-issue.ts'
import { nextTurn } from '../platform/next-turn.ts'
import type { PolicyHeadRecord } from '../store/records.ts'
import type { StoreWriter } from '../store/store.ts'

/** An organization may have hundreds of policies; a message stays readable. */
const MAX_NAMED = 10

/**
 * Takes the team out of every policy that names it, as far as `query` permits. Otherwise throws 409
 * with the policies that stand in the way; then the transaction must be undone.
 *
 * A scope without teams means everybody. So a policy that has no other team never loses its last
 * one: the whole policy is deleted, or it keeps the team.
 */
export async function detachTeam(
  writer: StoreWriter,
  team: { readonly org: string; readonly id: string },
  query: DeleteTeamQuery,
  now: Date,
): Promise<void> {
  const policies = await writer.policies.listUsingTeam(team.org, team.id)
  if (policies.length > 0 && query.detach === undefined)
    throw inUse(
      `policies use the team: ${names(policies)}; ` +
        'change their scope first, or send `detach=policies`',
    )
  const others = (policy: PolicyHeadRecord) => policy.teams.filter((id) => id !== team.id)
  const sole = policies.filter((policy) => others(policy).length === 0)
  if (sole.length > 0 && query.sole === undefined)
    throw inUse(
      `policies have no other team: ${names(sole)}; ` +
        'change their scope first, or send `sole=delete` to delete them',
    )

  for (const policy of policies) {
    const { org, id, name, mode } = policy
    const teams = others(policy)
    // A policy of 400 KB takes some milliseconds, and its event as many.
    await nextTurn()
    if (teams.length === 0) await writer.policies.delete(org, id)
    else {
      const updated_at = nextTimestamp(policy.updated_at, now)
      await writer.policies.update({ org, id, name, teams, mode, updated_at })
    }
  }
}

function inUse(message: string): ApiError {
  return new ApiError(409, 'conflict', message, { reason: 'team_in_use' })
}

function names(policies: readonly PolicyHeadRecord[]): string {
  const sorted = policies.map(({ name }) => name).toSorted()
  const shown = sorted.slice(0, MAX_NAMED).map(quote).join(', ')
  const more = sorted.length - MAX_NAMED
  return more > 0 ? `${shown} and ${more} more` : shown
}
