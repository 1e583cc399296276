import type {
  Suggestion,
  SuggestionEvidence,
  SuggestionMark,
  SuggestionsResponse,
} from '@palisade/protocol'
import { count } from '../terminal/count.ts'

const MOST_NAMES = 5

const MARKS: Readonly<Record<SuggestionMark, string>> = {
  one_device: 'all evidence comes from one device',
  one_user: 'all evidence comes from one user',
  ip_literal: 'an address, which may come to belong to somebody else',
  confusable_name: 'letters of another script imitate another name',
  similar_name: 'reads like another domain',
  unknown_domain: 'an internal name, or one that no public registry knows',
  shared_hosting: 'a name that anybody can get from a hosting provider',
  wildcard: 'covers more than was seen',
  sensitive_port: 'a port that can carry data out in bulk',
}

/** Devices first, because one machine can upload any number of decisions. */
export function describeEvidence(
  evidence: SuggestionEvidence,
  members: number | null = null,
): string {
  const { devices, users, decisions, first_at, last_at, usernames, programs } = evidence
  const people = members === null ? count(users, 'user') : `${users} of ${count(members, 'member')}`
  const named = usernames.length === 0 ? '' : ` (${listSome(usernames, users)})`
  const by = programs.map(({ program }) => program ?? 'an unknown program')
  const period = `${first_at.slice(0, 10)} to ${last_at.slice(0, 10)}`
  return [
    count(devices, 'device'),
    people + named,
    count(decisions, 'decision'),
    period,
    ...(by.length === 0 ? [] : [listSome(by, by.length)]),
  ].join(', ')
}

/** Sentences about the marks; empty for none. */
export function describeMarks({ marks, similar_to }: Suggestion): readonly string[] {
  return marks.map((mark) =>
    mark === 'similar_name' ? `reads like \`${similar_to ?? ''}\`, which is in use` : MARKS[mark],
  )
}

/** A region that a document opens, such as `connect:tcp *.example.com:443 except …`. */
export function describeOpened({
  action,
  resource,
  within,
  only,
  except,
}: SuggestionsResponse['opens'][number]['reachable'][number]): string {
  const out = [...except.allowed, ...except.denied]
  return [
    `${action} ${resource}`,
    ...(within === undefined ? [] : [`within ${within}`]),
    ...(only === undefined ? [] : [`(${only.replaceAll('_', ' ')})`]),
    ...(out.length === 0 ? [] : [`except ${listSome(out, out.length)}`]),
  ].join(' ')
}

/** `teams backend`, or `everybody`. */
export function describeTeams(teams: readonly string[]): string {
  return teams.length === 0 ? 'everybody' : teams.join(', ')
}

function listSome(all: readonly string[], total: number): string {
  const shown = all.slice(0, MOST_NAMES).join(', ')
  return total > MOST_NAMES ? `${shown} and ${total - MOST_NAMES} more` : shown
}
