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
  const ofMember = new Map<string | null, Audience[]>(members.map(({ username }) => [username, []]))
  for (const audience of all)
    for (const username of audience.members) ofMember.get(username)?.push(audience)
  if (scope === 'organization') ofMember.set(null, [...all])

  const isEnough = ({ team, members: { size } }: Audience, count: number): boolean => {
    if (team === null) return true
    if (by === 'user') return size === 1 && count === 1
    return count > 0 && (count >= least || count === size)
  }

  return {
    all,
    fits: (audience, users) => isEnough(audience, coveredOf(audience, users).length),
    choose(users) {
      const counts = new Map<Audience, number>()
      for (const username of users)
        for (const each of ofMember.get(username) ?? [])
          counts.set(each, (counts.get(each) ?? 0) + 1)
      const ranked = [...counts]
        .filter(([audience, count]) => isEnough(audience, count))
        .map(([audience, count]) => ({ audience, share: count / audience.members.size }))
        .toSorted((a, b) => b.share - a.share || compareSizes(a.audience, b.audience))
      const left = new Set(users)
      const chosen: Audience[] = []
      for (const { audience, share } of ranked) {
        const covered = coveredOf(audience, left)
        // One more user is no evidence for a wider team.
        if (covered.length === 0 || !(share === 1 || isEnough(audience, covered.length))) continue
        for (const username of covered) left.delete(username)
        chosen.push(audience)
      }
      return chosen
    },
  }
}

function audiencesOf(
  teams: SuggestOrganization['teams'],
  members: SuggestOrganization['members'],
): readonly Audience[] {
  const belonging = members.flatMap(({ username, teams: ids }) =>
    ids.map((id) => ({ id, username })),
  )
  const byTeam = Map.groupBy(belonging, ({ id }) => id)
  return teams
    .flatMap((team) => {
      const within = new Set((byTeam.get(team.id) ?? []).map(({ username }) => username))
      const covers = (username: string | null) => username !== null && within.has(username)
      return within.size === 0 ? [] : [{ team, members: within, covers }]
    })
    .toSorted(compareSizes)
}

function coveredOf(audience: Audience, users: ReadonlySet<string | null>) {
  return [...users].filter((username) => audience.covers(username))
}

function everybody(members: SuggestOrganization['members']): Audience {
  const all = new Set(members.map(({ username }) => username))
  return { team: null, members: all, covers: (username) => username === null || all.has(username) }
}

function compareSizes(a: Audience, b: Audience): number {
  return a.members.size - b.members.size || ((a.team?.name ?? '') < (b.team?.name ?? '') ? -1 : 1)
}
