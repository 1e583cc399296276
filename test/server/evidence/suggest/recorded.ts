import { randomUUID } from 'node:crypto'
import { suggestionsRequestSchema, type SuggestionsRequest } from '@palisade/protocol'
import type {
  RecordedRequest,
  SuggestOrganization,
  SuggestRules,
} from '../../../../server/src/evidence/suggest/suggest-input.ts'

export const NOW_MS = Date.parse('2026-11-26T12:00:00Z')

type Tuple = RecordedRequest['tuple']

/** A default deny of one connection, by each of the users on a device of their own. */
export function denied(
  host: string,
  users: readonly (string | null)[],
  rest: Partial<Tuple> = {},
): RecordedRequest {
  return recorded({ host, port: 443, ...rest }, users)
}

/** A default deny of reading one file. */
export function unread(
  path: string,
  users: readonly (string | null)[],
  rest: Partial<Tuple> = {},
): RecordedRequest {
  return recorded({ action: 'read', path, ...rest }, users)
}

function recorded(tuple: Partial<Tuple>, users: readonly (string | null)[]): RecordedRequest {
  return {
    tuple: {
      protocol: 'connect',
      action: 'connect:tcp',
      host: null,
      port: null,
      address: null,
      path: null,
      path_cut: false,
      decision: 'deny',
      reason: 'default_deny',
      rules: [],
      program: null,
      ...tuple,
    },
    sightings: users.map((username) => ({
      device_id: `device of ${username ?? 'nobody'}`,
      username,
      decisions: 10,
      first_ms: NOW_MS - 60_000,
      last_ms: NOW_MS,
    })),
  }
}

/** Teams by name with their members. */
export function organizationOf(
  teams: Readonly<Record<string, readonly string[]>>,
  policies: SuggestOrganization['policies'] = [],
): SuggestOrganization {
  const listed = Object.keys(teams).map((name) => ({ id: randomUUID(), name }))
  const names = new Set(Object.values(teams).flat())
  return {
    policies,
    teams: listed,
    members: [...names].map((username) => ({
      username,
      teams: listed.filter(({ name }) => teams[name]?.includes(username)).map(({ id }) => id),
    })),
  }
}

/** The options of a request, with their defaults. */
export function optionsOf(request: SuggestionsRequest = {}): SuggestRules {
  const { since: _, until: __, ...rules } = suggestionsRequestSchema.parse(request)
  return { ...rules, min_devices: rules.min_devices ?? (rules.by === 'user' ? 1 : 2) }
}
