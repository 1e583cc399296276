import type { SuggestOrganization, SuggestRules } from './suggest-input.ts'

/** The audience of a policy. */
export interface Audience {
  /** Null for the whole organization. */
  readonly team: { readonly id: string; readonly name: string } | null
  readonly members: ReadonlySet<string>
  /** Whether the policy applies to a member, or to a device without a user (null). */
  covers(username: string | null): boolean
}

export interface Audiences {
  /**
   * The audiences for requests of these users, first those of which the greatest part made the
   * request. Each has enough users that the ones before it do not cover. Empty when none fits.
   */
  choose(users: ReadonlySet<string | null>): readonly Audience[]
  /** Whether enough of the audience are among the users. */
  fits(audience: Audience, users: ReadonlySet<string | null>): boolean
  /** All of them, the smallest first. */
  readonly all: readonly Audience[]
}

/**
 * Policies apply to teams, so a rule for one person opens a target for a whole team. A team fits
 * when at least `min_members` of its members made the request, or all of them. With `by: user` only
 * a team of that user alone fits. The whole organization is an audience only when it is asked for:
 * evidence of few people must not open a target for everybody.
 */
export function createAudiences(
  { teams, members }: Pick<SuggestOrganization, 'teams' | 'members'>,
  { scope, by, min_members: least }: Pick<SuggestRules, 'scope' | 'by' | 'min_members'>,
): Audiences {
  const all = scope === 'organization' ? [everybody(members)] : audiencesOf(teams, members)

  const fits: Audiences['fits'] = (audience, users) => {
    if (audience.team === null) return true
    const count = countIn(audience, users)
    if (by === 'user') return audience.members.size === 1 && count === 1
    return count > 0 && (count >= least || count === audience.members.size)
  }

  return {
    all,
    fits,
    choose(users) {
      const share = (each: Audience): number => countIn(each, users) / each.members.size
      const ranked = all
        .filter((audience) => fits(audience, users))
        .toSorted((a, b) => share(b) - share(a) || a.members.size - b.members.size)
      const left = new Set(users)
      return ranked.filter((each) => {
        const covered = [...left].filter((username) => each.covers(username))
        const isWhole = countIn(each, users) === each.members.size
        // One more user is no evidence for a wider team.
        if (covered.length === 0 || !(isWhole || fits(each, left))) return false
        for (const username of covered) left.delete(username)
        return true
      })
    },
  }
}

function audiencesOf(
  teams: SuggestOrganization['teams'],
  members: SuggestOrganization['members'],
): readonly Audience[] {
  const byTeam = new Map<string, Set<string>>()
  for (const { username, teams: ids } of members)
    for (const id of ids) {
      const known = byTeam.get(id)
      if (known === undefined) byTeam.set(id, new Set([username]))
      else known.add(username)
    }
  return teams
    .flatMap((team) => {
      const within = byTeam.get(team.id)
      if (within === undefined) return []
      const covers = (username: string | null) => username !== null && within.has(username)
      return [{ team, members: within, covers }]
    })
    .toSorted((a, b) => a.members.size - b.members.size || (a.team.name < b.team.name ? -1 : 1))
}

function everybody(members: SuggestOrganization['members']): Audience {
  const all = new Set(members.map(({ username }) => username))
  return { team: null, members: all, covers: (username) => username === null || all.has(username) }
}

/** Iterates over the smaller one, because a target may have many users, and a team many members. */
function countIn({ members }: Audience, users: ReadonlySet<string | null>): number {
  if (users.size > members.size) return [...members].filter((name) => users.has(name)).length
  return [...users].filter((name) => name !== null && members.has(name)).length
}
