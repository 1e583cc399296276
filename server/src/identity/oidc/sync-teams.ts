import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author } from '../../history/author.ts'
import type { UserRecord } from '../../store/records.ts'
import type { StoreReader } from '../../store/store.ts'
import { isEnded } from './ended-sessions.ts'
import type { ExternalSubject } from './external-token.ts'
import { namedTeams } from './teams-claim.ts'

interface Difference {
  readonly missing: readonly string[]
  readonly surplus: readonly string[]
}

/**
 * Puts the user into exactly the named teams, in each organization of the user. Writes only where
 * the teams differ, and does not create missing teams. Each organization has its own transaction,
 * so that their histories do not wait for each other.
 *
 * An older token that is still in use must not restore a team that a newer one removed, on any
 * server. So the newest `issuedAt` is stored with the user before any team changes. Tokens of the
 * same second have no order: only teams that all of them name count.
 */
export async function syncTeams(
  store: AuditedStore,
  author: Author,
  { name: username, issuedAt }: Pick<ExternalSubject, 'name' | 'issuedAt'>,
  teams: readonly string[],
): Promise<void> {
  const findUser = async (reader: StoreReader): Promise<UserRecord | null> => {
    const user = await reader.users.find(username)
    const isOver =
      user === null || isEnded(user, issuedAt) || issuedAt < (user.teams_synced_iat ?? issuedAt)
    return isOver ? null : user
  }
  const isNewest = await store.write(author, async (writer) => {
    const user = await findUser(writer)
    if (user === null) return false
    const isSameSecond = user.teams_synced_iat === issuedAt
    const claimed = isSameSecond ? await writer.users.claimedTeams(username) : null
    const own = new Set(teams)
    const common = claimed === null ? teams : claimed.filter((team) => own.has(team))
    if (common.length !== claimed?.length)
      await writer.users.noteTeamsSynced(username, issuedAt, common)
    return true
  })
  if (!isNewest) return
  const orgs = await store.read(async (reader) => {
    const named = new Set(await reader.users.claimedTeams(username))
    const differing: string[] = []
    for (const { org } of await reader.memberships.listOfUser(username)) {
      const { missing, surplus } = await compare(reader, org, username, named)
      if (missing.length + surplus.length > 0) differing.push(org)
    }
    return differing
  })
  for (const org of orgs)
    await store.write(author, async (writer) => {
      // Checked again: the user may have left or been revoked, or a newer token seen, in between.
      if ((await findUser(writer)) === null) return
      if ((await writer.memberships.find(org, username)) === null) return
      const named = new Set(await writer.users.claimedTeams(username))
      const { missing, surplus } = await compare(writer, org, username, named)
      for (const id of missing) await writer.teams.addMember(org, id, username)
      for (const id of surplus) await writer.teams.removeMember(org, id, username)
    })
}

async function compare(
  reader: StoreReader,
  org: string,
  username: string,
  named: ReadonlySet<string>,
): Promise<Difference> {
  const wanted = namedTeams(await reader.teams.list(org), named)
  const current = new Set(await reader.teams.listOfUser(org, username))
  return {
    missing: [...wanted].filter((id) => !current.has(id)),
    surplus: [...current].filter((id) => !wanted.has(id)),
  }
}
