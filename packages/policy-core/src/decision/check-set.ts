import { parseAddress, type IpAddress } from '../address/ip-address.ts'
import { PolicyError } from '../errors.ts'
import { parsePath, segmentsOf } from '../path/path.ts'
import { quote, show } from '../quote.ts'
import type { CompileOptions, PolicySet } from './policy-set.ts'

const SET_MEMBERS: readonly (keyof PolicySet)[] = [
  'policies',
  'local',
  'grants',
  'governed',
  'home',
  'machine_addresses',
  'resolve_unlisted_names',
  'default',
  'revision',
]
const LISTS: readonly (keyof PolicySet)[] = ['policies', 'local']
const OPTION_MEMBERS: readonly (keyof CompileOptions)[] = ['caseSensitive', 'patternLimits']

/** Members that callers often misplace, with the correction. */
const MISPLACED: ReadonlyMap<string, string> = new Map([
  [
    'user_teams',
    'give the policies that apply to the user: `policies: effectivePolicies(policies, teams)`',
  ],
  [
    'caseSensitive',
    'give it in the second argument: `compilePolicy(set, { caseSensitive: false })`',
  ],
])

/**
 * Throws `ERR_OPTION_INVALID` for a set or options of the wrong shape, which only JavaScript
 * callers can pass. Another value in place of a set, such as the list of policies, would read as an
 * empty set and pass every check. An unknown member is refused because the caller relies on it:
 * ignoring `user_teams` would allow requests that are reserved for another team.
 */
export function checkSet(set: PolicySet, options: CompileOptions): void {
  requireSet(set)
  requireType('options', options, isObject, 'an object')
  requireKnownMembers('a policy set', set, SET_MEMBERS)
  requireKnownMembers('the options', options, OPTION_MEMBERS)
  for (const member of ['policies', 'local', 'grants', 'machine_addresses'] as const)
    requireType(member, set[member], Array.isArray, 'an array')
  for (const member of ['governed', 'resolve_unlisted_names'] as const)
    requireType(member, set[member], isBoolean, '`true` or `false`')
  requireType('revision', set.revision ?? undefined, isRevision, 'a whole number from 0')
  for (const member of OPTION_MEMBERS)
    requireType(member, options[member], isBoolean, '`true` or `false`')
}

/** The segments of the home directory; null when none is given. */
export function readHome(home: string | undefined): readonly string[] | null {
  if (home === undefined) return null
  if (typeof home !== 'string') throw invalidOption('home', `${show(home)} is not a string`)
  const path = parsePath(home)
  if (path.ok && path.value === home) return segmentsOf(home)
  const why = path.ok ? 'it ends in `/`' : path.message
  throw invalidOption(
    'home',
    `${quote(home)} is not a canonical path: ${why}; write one such as \`/home/dev\``,
  )
}

/** Reads the machine's own addresses, in any spelling. */
export function readMachineAddresses(texts: readonly string[] = []): IpAddress[] {
  // Not `map`, which skips the holes of a sparse array.
  return Array.from(texts, (text) => {
    const address = typeof text === 'string' ? parseAddress(text) : null
    if (address !== null) return address
    throw invalidOption(
      'machine_addresses',
      `${show(text)} is not an IP address; write one such as \`192.0.2.7\` or \`2001:db8::1\``,
    )
  })
}

/** Refuses an object that has members but no list of policies. */
function requireSet(set: unknown): void {
  const keys = isObject(set) ? Object.keys(set) : null
  const other = keys?.find((key) => !isOneOf(SET_MEMBERS, key))
  const isSet = keys !== null && (other === undefined || keys.some((key) => isOneOf(LISTS, key)))
  if (isSet) return
  const written = other === undefined ? show(set) : `an object with ${quote(other)}`
  throw invalidOption('set', `${written} is not a policy set; write \`{ policies: [...] }\``)
}

/** A member whose value is `undefined` counts as absent. */
function requireKnownMembers(owner: string, given: object, known: readonly string[]): void {
  for (const [member, value] of Object.entries(given)) {
    if (value === undefined || isOneOf(known, member)) continue
    const advice = MISPLACED.get(member) ?? `its members are ${known.map(quote).join(', ')}`
    throw invalidOption(member, `${owner} has no such member; ${advice}`)
  }
}

function isOneOf(members: readonly string[], member: string): boolean {
  return members.includes(member)
}

function requireType(
  member: string,
  value: unknown,
  isRight: (value: unknown) => boolean,
  wanted: string,
): void {
  if (value !== undefined && !isRight(value))
    throw invalidOption(member, `${show(value)} is not ${wanted}`)
}

/** Accepts objects of another realm, but no promise, date or map: these have no own members. */
function isObject(value: unknown): value is object {
  return Object.prototype.toString.call(value) === '[object Object]'
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isRevision(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function invalidOption(member: string, message: string): PolicyError {
  return new PolicyError('ERR_OPTION_INVALID', `${quote(member)}: ${message}`)
}
