import {
  ACTIONS,
  FILESYSTEM_ACTIONS,
  isFilesystemAction,
  NETWORK_ACTIONS,
  type Action,
  type CompiledPolicy,
  type FilesystemAction,
  type NetworkAction,
} from '@palisade/policy-core'
import {
  isLocalhostName,
  linearRules,
  type CompiledResource,
  type CompiledRule,
  type Segments,
} from '@palisade/policy-core/internal'
import type { AddressPattern } from './address/find-address.ts'
import { keyOfSegments } from '../pattern/format-pattern.ts'
import type { NamePattern } from './name/find-name.ts'
import type { Cause, Listed, Side } from './pattern-space.ts'

/** The patterns of a policy for names, addresses and paths, by action. */
export interface ListedPatterns {
  readonly names: Readonly<Record<NetworkAction, Side<NamePattern>>>
  readonly addresses: Readonly<Record<NetworkAction, Side<AddressPattern>>>
  readonly paths: Readonly<Record<FilesystemAction, Side<Segments>>>
}

type Lists = {
  readonly [Kind in keyof ListedPatterns]: {
    readonly [A in keyof ListedPatterns[Kind]]: ListedPatterns[Kind][A] extends Side<infer P>
      ? GrowingSide<P>
      : never
  }
}

interface GrowingList<P> extends Listed<P> {
  readonly causes: Cause[]
}

interface GrowingSide<P> {
  readonly allow: Map<string, GrowingList<P>>
  readonly deny: Map<string, GrowingList<P>>
}

/** Lists each effective pattern once. Inactive rules and impossible patterns are left out. */
export function listPatterns(policy: CompiledPolicy): ListedPatterns {
  const lists: Lists = {
    names: createSides(NETWORK_ACTIONS),
    addresses: createSides(NETWORK_ACTIONS),
    paths: createSides(FILESYSTEM_ACTIONS),
  }
  for (const rule of linearRules(policy)) {
    if (!rule.active) continue
    const actions = ACTIONS.filter((action) => rule.actions.includes(action))
    for (const resource of rule.resources)
      for (const action of actions) list(lists, action, { rule, resource: resource.text }, resource)
  }
  return lists
}

function list(lists: Lists, action: Action, cause: Cause, resource: CompiledResource): void {
  const { text } = resource
  if (resource.domain === 'filesystem') {
    const { segments } = resource
    if (segments === null || !isFilesystemAction(action)) return
    const key = text.startsWith('~') ? `~${keyOfSegments(segments)}` : text
    add(lists.paths[action], key, segments, cause)
  } else if (!isFilesystemAction(action)) {
    const { pattern } = resource
    if (pattern.kind === 'range') add(lists.addresses[action], text, pattern, cause)
    else if (!allowsNothing(pattern, cause.rule)) add(lists.names[action], text, pattern, cause)
  }
}

/** Names below localhost mean loopback. Only an allow of the address opens loopback. */
function allowsNothing({ domain }: NamePattern, { identity }: CompiledRule): boolean {
  return identity.decision === 'allow' && isLocalhostName(domain)
}

function add<P>(side: GrowingSide<P>, key: string, pattern: P, cause: Cause): void {
  const patterns = side[cause.rule.identity.decision]
  const known = patterns.get(key)
  if (known === undefined) patterns.set(key, { key, pattern, causes: [cause] })
  else known.causes.push(cause)
}

function createSides<A extends Action, P>(
  actions: readonly A[],
): Readonly<Record<A, GrowingSide<P>>> {
  const sides = actions.map((action) => [action, { allow: new Map(), deny: new Map() }])
  return Object.fromEntries(sides) as Record<A, GrowingSide<P>>
}
